"""The graders' side of an assignment: release, intake, two engines, scores, feedback.

Only ``course/commands`` and ``nbgrader_config.py`` import this package; what student notebooks
import is ``course.checks``. The way of a submission through the modules::

    sets       which problem sets there are and where their files lie
    cells      what a cell of an assignment is: an answer, a test, an essay, locked, free
    lint       the conventions of a source notebook
    release    solutions/ -> assignments/, by nbgrader
    intake     any file a student hands in -> a clean notebook and what was repaired; runs nothing
    engine     what an engine is; fast (forked from zygote) and stock (nbgrader) are the two
    kernel     what a kernel of nbgrader's does differently here; output: what is kept of a flood
    processes  ends what a notebook has started
    score      results of cells -> points and messages, the same for both engines
    feedback   one page for a student
    results    what is known of the students -> results.json, results.csv, feedback/
    gradebook  points that a person gives in nbgrader's formgrader
    again      what of earlier results in the same folder still holds
    grade      a folder of submissions -> all of these
"""
