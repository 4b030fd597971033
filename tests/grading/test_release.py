"""What students get."""

import json

import pytest
import toy

from course import Problem, notebooks
from course.grading import cells, release, remedies, sets
from course.grading.lint import lint_page


@pytest.fixture(scope="module")
def released(toy_set):
    return {cell["id"]: cell for cell in notebooks.read(toy_set.release)["cells"]}


def test_no_answer_is_released(toy_set):
    text = toy_set.release.read_text(encoding="utf-8")
    for secret in ("SOLUTION", "2 * m * n * k", "4 * n * n", "989e12", "Because of the caches"):
        assert secret not in text


def test_stubs_name_what_is_missing(released):
    assert released["matmul_flops"]["source"] == (
        "# cell: matmul_flops\n"
        "def matmul_flops(m, n, k):\n"
        '    """Return the FLOPs of an m x k times k x n product."""\n'
        "    # your code here\n"
        '    raise NotImplementedError("matmul_flops is not written yet")'
    )
    assert released["ridge"]["source"] == "# cell: ridge\nridge = None  # your answer"


def test_the_first_page_of_a_set_names_every_kind_of_stub():
    for problem_set in sets.all_sets():
        listed = notebooks.read(problem_set.release)["cells"]
        answers = "\n".join(c["source"] for c in listed if cells.role(c) == "answer")
        for mark in ("# your code here", "# your answer", "NotImplementedError", "None"):
            assert (f"`{mark}`" in listed[0]["source"]) == (mark in answers), mark


def test_every_solution_of_a_cell_gets_its_own_stub():
    source = (
        "### BEGIN SOLUTION\nb, a = 1, 2\n### END SOLUTION\n"
        "def f():\n    ### BEGIN SOLUTION\n    return a\n    ### END SOLUTION\n"
        "class C:\n    def g(self):\n"
        "        ### BEGIN SOLUTION\n        pass\n        ### END SOLUTION\n"
    )
    assert remedies.clear(source) == (
        "b = None  # your answer\na = None  # your answer\n"
        'def f():\n    # your code here\n    raise NotImplementedError("f is not written yet")\n'
        "class C:\n    def g(self):\n        # your code here\n"
        '        raise NotImplementedError("g is not written yet")\n'
    )
    kernel = "%%cuda\n__global__ void k() {\n  // BEGIN SOLUTION\n  x();\n  // END SOLUTION\n}"
    assert remedies.clear(kernel) == "%%cuda\n__global__ void k() {\n  // your code here\n}"


def test_the_header_says_how_to_work(released):
    ids = [*released]
    assert ids.index("how-to-work") == 1
    for word in ("generated", "course start toy", "course check toy", "solutions/toy/toy.ipynb"):
        assert word in released["how-to-work"]["source"]


def test_course_cells_cannot_be_edited_and_answers_can(released):
    for key in ("setup", "test_ridge", "ask_ridge"):
        assert released[key]["metadata"]["editable"] is False
    for key in ("ridge", "why"):
        assert "editable" not in released[key]["metadata"]
        assert released[key]["metadata"]["deletable"] is False


def test_a_release_is_canonical_and_well_formed(toy_set):
    notebook = notebooks.read(toy_set.release)
    assert toy_set.release.read_text(encoding="utf-8") == notebooks.canonical(notebook)
    assert lint_page(notebook) == []


def test_a_release_is_the_same_twice(toy_set):
    assert release.outdated(toy_set) is None


def test_a_changed_question_is_noticed(tmp_path, toy_set):
    other = toy.make_course(tmp_path)
    other.release.parent.mkdir(parents=True)
    other.release.write_bytes(toy_set.release.read_bytes())
    text = other.source.read_text(encoding="utf-8")
    other.source.write_text(text.replace("What is `ridge`?", "What was `ridge`?"), encoding="utf-8")
    assert "What was `ridge`?" in release.outdated(other)


def test_nothing_but_the_notebook_is_released(tmp_path):
    """Not even by nbgrader itself, run in the folder of the course."""
    problem_set = toy.make_course(tmp_path)
    names = ["a.py", "b", ".env", "x.ipyn", "ipynb", "timestamp.txt", "my.db", "toy.ipynb~"]
    for name in [*names, "private/tests.py"]:
        path = problem_set.source.parent / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("secret", encoding="utf-8")
    converter = release.import_nbgrader().converters.GenerateAssignment
    release.run(converter, release.config(tmp_path), problem_set, student=".")
    assert [path.name for path in problem_set.release.parent.iterdir()] == ["toy.ipynb"]


def test_a_source_that_breaks_a_convention_is_refused(tmp_path):
    problem_set = toy.make_course(tmp_path)
    text = problem_set.source.read_text(encoding="utf-8")
    problem_set.source.write_text(text.replace('"points": 2', '"points": 0'), encoding="utf-8")
    with pytest.raises(
        release.ReleaseError, match=r"solutions/toy/toy.ipynb breaks .*\n .*0 points"
    ):
        release.build(problem_set)


def test_a_broken_file_is_refused(tmp_path):
    problem_set = toy.make_course(tmp_path)
    problem_set.source.write_text("{", encoding="utf-8")
    with pytest.raises(Problem, match="cannot be read"):
        release.build(problem_set)


def test_strays_are_found(tmp_path):
    toy.make_course(tmp_path)
    folder = tmp_path / "assignments" / "toy"
    folder.mkdir(parents=True)
    for name in ("toy.ipynb", "answers.py"):
        (folder / name).write_text("", encoding="utf-8")
    assert release.strays(tmp_path) == ["assignments/toy/answers.py"]


def test_what_is_committed_is_what_the_sources_make(capsys):
    assert release.release([], check=True) == 0
    assert "assignments/ is what solutions/ makes" in capsys.readouterr().out


def test_a_difference_is_named_with_what_mends_it(tmp_path, capsys, toy_set):
    other = toy.make_course(tmp_path)
    other.release.parent.mkdir(parents=True)
    other.release.write_bytes(toy_set.release.read_bytes() + b"\n")
    assert release.release([], check=True, root=tmp_path) == 1
    said = capsys.readouterr().out
    assert "assignments/toy/toy.ipynb is not what solutions/toy/toy.ipynb makes." in said
    assert "Mend it with: python3 -m course release" in said
    assert release.release(["to"], check=False, root=tmp_path) == 0
    assert other.release.read_bytes() == toy_set.release.read_bytes()


def test_json_is_utf8_without_escapes(toy_set):
    text = toy_set.release.read_bytes().decode("utf-8")
    assert "\r" not in text
    assert text.endswith("}\n")
    json.loads(text)
