"""Each convention of a notebook, broken once."""

import toy

from course.grading.lint import lint, lint_lecture


def cell(notebook, cell_id):
    return next(c for c in notebook["cells"] if c["id"] == cell_id)


def noted(notebook, cell_id):
    return cell(notebook, cell_id)["metadata"]["nbgrader"]


def faults(change) -> list[str]:
    notebook = toy.source_notebook()
    change(notebook)
    return lint(notebook)


def one_fault(change) -> str:
    (fault,) = faults(change)
    return fault


def test_the_toy_keeps_the_conventions():
    assert lint(toy.source_notebook()) == []


def test_ids():
    assert "two cells have the id 'demo'" in faults(
        lambda n: n["cells"].append(toy.free("demo", "1"))
    )
    assert "not a short name" in one_fault(lambda n: cell(n, "demo").update(id="a b"))
    assert "its grade_id is 'other', not the cell's id" in one_fault(
        lambda n: noted(n, "ridge").update(grade_id="other")
    )


def test_headings():
    def no_title(notebook):
        cell(notebook, "title")["source"] = "no title"

    assert "one H1" in one_fault(no_title)
    assert "one H1" in one_fault(lambda n: n["cells"].append(toy.free("x", "# Two", "markdown")))
    deep = toy.free("x", "#### Deep", "markdown")
    assert "level 4 stands below one of level 2" in one_fault(lambda n: n["cells"].append(deep))
    code = toy.free("x", "```\n# a comment\n```", "markdown")
    assert faults(lambda n: n["cells"].append(code)) == []


def test_images_have_alternative_texts():
    for bad in ("![](a.png)", '<img src="a.png">', '<img src="a.png" alt="">'):
        image = toy.free("x", bad, "markdown")
        assert "without alt text" in one_fault(lambda n, image=image: n["cells"].append(image))
    for good in ("![a chart](a.png)", '<img alt="a chart" src="a.png">'):
        image = toy.free("x", good, "markdown")
        assert faults(lambda n, image=image: n["cells"].append(image)) == []


def test_graded_cells():
    assert "schema_version is 2" in one_fault(lambda n: noted(n, "ridge").update(schema_version=2))
    assert "worth 0 points" in one_fault(lambda n: noted(n, "test_ridge").update(points=0))
    assert "worth None points" in one_fault(lambda n: noted(n, "why").pop("points"))

    def no_marker(notebook):
        cell(notebook, "ridge")["source"] = toy.ANSWERS["ridge"]

    assert "its first line is not `# cell: ridge`" in one_fault(no_marker)

    def hidden(notebook):
        cell(notebook, "setup")["source"] += "\n### BEGIN HIDDEN TESTS\n### END HIDDEN TESTS"

    assert "hidden tests" in one_fault(hidden)


def test_answers():
    def unmarked(notebook):
        cell(notebook, "ridge")["source"] = "# cell: ridge\nridge = 1"

    assert "not between the lines" in one_fault(unmarked)

    def unbalanced(notebook):
        cell(notebook, "ridge")["source"] += "\n### BEGIN SOLUTION"

    assert "not between the lines" in one_fault(unbalanced)

    def solution_elsewhere(notebook):
        cell(notebook, "setup")["source"] += "\n### BEGIN SOLUTION\n### END SOLUTION"

    assert "only an answer cell may hold a solution" in one_fault(solution_elsewhere)


def test_the_question_of_an_essay_has_a_cell_of_its_own():
    def in_the_answer(notebook):
        notebook["cells"].remove(cell(notebook, "ask_why"))

    assert "no locked cell of its own" in one_fault(in_the_answer)


def test_test_cells_are_one_call_with_names():
    def with_test(source):
        return faults(
            lambda n: cell(n, "test_ridge").update(source=f"# cell: test_ridge\n{source}")
        )

    assert with_test("toy.ridge(ridge)") == []
    for bad, fault in {
        "toy.ridge(ridge.value)": "`ridge.value` is not just a name",
        "toy.ridge(later)": "no answer above it binds `later`",
        "toy.ridge()": "given nothing of the student's",
        "toy.ridge(value=ridge)": "not one call of the checks",
        "assert ridge == 295": "not one call of the checks",
        "x = 1\ntoy.ridge(ridge)": "not one call of the checks",
        "np.ridge(ridge)": "it calls 'np'",
    }.items():
        (found,) = with_test(bad)
        assert fault in found


def test_a_class_is_nothing_to_hand_to_a_check():
    def a_class(notebook):
        source = "# cell: ridge\n### BEGIN SOLUTION\nclass ridge: pass\n### END SOLUTION"
        cell(notebook, "ridge")["source"] = source

    assert "no answer above it binds `ridge` to a function or a value" in one_fault(a_class)


def test_the_checks_come_from_a_locked_first_cell():
    assert any(
        "first code cell" in f for f in faults(lambda n: noted(n, "setup").update(locked=False))
    )


LECTURE = """# Counting

After this you can count. You will learn

- to count

<details><summary>a?</summary>1</details> <details><summary>b?</summary>1</details>
<details><summary>c?</summary>1</details> <details><summary>d?</summary>1</details>
"""


def lecture(text=LECTURE, code="from course import tiers\ntiers.banner()"):
    return lint_lecture({"cells": [toy.free("a", text, "markdown"), toy.free("b", code)]})


def test_lectures():
    assert lecture() == []
    assert "tier line" in lecture(code="1")[0]
    assert "you will learn" in lecture(LECTURE.replace("- to count", "to count"))[0]
    assert (
        "this one has 3"
        in lecture(LECTURE.replace("<details><summary>d?</summary>1</details>", ""))[0]
    )
    assert "not closed" in lecture(LECTURE.replace("d?</summary>1</details>", "d?</summary>1"))[0]


def test_cuda_cells_carry_the_marker_below_the_magic():
    kernel = "%%cuda\n// cell: ridge\n__global__ void __launch_bounds__(256) ridge(float *x) {\n"
    kernel += "    // BEGIN SOLUTION\n    x[0] = 1;\n    // END SOLUTION\n}"
    assert faults(lambda n: cell(n, "ridge").update(source=kernel)) == []
