"""Settings of nbgrader for this course; `release` and `grade` use them, and so do its own commands.

nbgrader generate_assignment | autograde | generate_feedback | formgrader, run in this folder, work
as its documentation says. What differs from its defaults is here, with the reason.
"""

# ruff: noqa: F821  get_config is nbgrader's

c = get_config()

# solutions/ is what people edit, assignments/ is generated from it: `python3 -m course release`
c.CourseDirectory.course_id = "gpus-flashattention"
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "assignments"

# An allow list: of the files beside a notebook nothing is released, and nothing that a student
# hands in (numpy.py, links to other people's work) gets into the folder where their code runs.
# These patterns match every name but those that end in .ipynb: hidden ones, those that miss the
# ending by one letter at one place, and those that are too short for it.
c.CourseDirectory.ignore = [
    ".*",
    *(f"*[!{letter}]{'.ipynb'[place + 1 :]}" for place, letter in enumerate(".ipynb")),
    *("?" * length for length in range(1, len(".ipynb"))),
]

# Release: each stub names what is missing, and a cell below the title tells how to work on the set.
c.GenerateAssignment.preprocessors = [
    "course.grading.remedies.Header",
    "nbgrader.preprocessors.LockCells",
    "course.grading.remedies.Stubs",
    "nbgrader.preprocessors.ClearOutput",
    "nbgrader.preprocessors.CheckCellMetadata",
    "nbgrader.preprocessors.ComputeChecksums",
    "nbgrader.preprocessors.SaveCells",
    "nbgrader.preprocessors.ComputeChecksums",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.ClearSolutions.text_stub = "*Your answer here.*"

# Autograde: a copied cell does not stop the batch, a deleted test comes back, a warning costs no
# points, a flood of output does not fill the disk.
c.Autograde.sanitize_preprocessors = [
    "nbgrader.preprocessors.ClearOutput",
    "course.grading.remedies.DropDuplicates",
    "nbgrader.preprocessors.OverwriteKernelspec",
    "nbgrader.preprocessors.OverwriteCells",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.Autograde.autograde_preprocessors = [
    "nbgrader.preprocessors.Execute",
    "course.grading.remedies.TameOutputs",
    "nbconvert.preprocessors.ClearMetadataPreprocessor",
    "nbgrader.preprocessors.LimitOutput",
    "nbgrader.preprocessors.SaveAutoGrades",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.OverwriteCells.add_missing_cells = True
# the kernel does not end, or fall silent, because a cell says so
c.Execute.extra_arguments = ["--IPKernelApp.extra_extensions=course.grading.kernel"]
c.Execute.timeout = 60
c.Execute.startup_timeout = 120
c.Execute.shutdown_kernel = "immediate"  # nothing of a student's needs to be asked politely

# Feedback and formgrader show what students wrote: as text, never as a page's own HTML.
c.HTMLExporter.sanitize_html = True
c.HTMLExporter.preprocessors = ["nbconvert.preprocessors.sanitize.SanitizeHTML"]
