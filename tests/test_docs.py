"""README.md and CONTRIBUTING.md: what they say about the repository is so."""

import ast
import re
import shlex

import pytest

from course import ROOT, cli, notebooks, syllabus
from course.grading import release, sets

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
NOTEBOOKS = sorted(ROOT.glob("notebooks/*.ipynb")) + sorted(ROOT.glob("[as]*s/*/*.ipynb"))
README = PAGES[0].read_text(encoding="utf-8")
CONTRIBUTING = PAGES[1].read_text(encoding="utf-8")

LINK = re.compile(r"(!?)\[([^]]*)\]\(([^)\s]+)\)")


def text(path):
    """The Markdown of a page or a notebook."""
    if path.suffix == ".md":
        return path.read_text(encoding="utf-8")
    cells = notebooks.read(path)["cells"]
    return "\n\n".join(cell["source"] for cell in cells if cell["cell_type"] == "markdown")


def section(page, heading):
    """What stands below a heading of the second level."""
    return re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", page, re.M | re.S)[1]


def rows(page, heading):
    """The rows of the first table below a heading, without its header."""
    lines = [line for line in section(page, heading).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def code(words):
    """What stands in backticks."""
    return re.findall(r"`([^`]+)`", words)


# --------------------------------------------------------------------------------- links, pictures


@pytest.mark.parametrize("path", PAGES + NOTEBOOKS, ids=lambda path: path.name)
def test_links_lead_somewhere(path):
    for _, _, target in LINK.findall(text(path)):
        if re.match(r"https?://", target):
            continue
        file, _, anchor = target.partition("#")
        linked = path.parent / file if file else path
        assert linked.exists(), f"{path.name} links to {target}"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", text(linked), re.M)
            assert anchor in anchors(linked, headings), f"{path.name} links to {target}"


def anchors(path, headings):
    """What JupyterLab calls the headings of a notebook, and a Git forge those of a page."""
    if path.suffix == ".ipynb":
        return [heading.replace(" ", "-") for heading in headings]
    return [re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings]


@pytest.mark.parametrize("path", PAGES + NOTEBOOKS, ids=lambda path: path.name)
def test_pictures_are_described(path):
    for mark, words, target in LINK.findall(text(path)):
        if mark:
            assert len(words.split()) >= 8, f"{target} needs a text that says what it shows"
    assert not re.search(r"<img(?![^>]*\balt=\"[^\"]{20,}\")", text(path))


def test_readme_has_a_picture():
    assert any(mark for mark, _, _ in LINK.findall(README))


# --------------------------------------------------------------------------------------- commands


def command_lines():
    """Each line that the pages and the notebooks tell people to type: where, and what."""
    for path in PAGES + NOTEBOOKS:
        for words in re.findall(r"(?:python3|py) -m course(?![.\w])([^`\n]*)", text(path)):
            if "COMMAND" not in words:
                yield path.name, words.split("#")[0].strip()
    for command, *_ in rows(README, "Commands"):
        yield "README.md", code(command)[0]


@pytest.mark.parametrize(("page", "line"), sorted(set(command_lines())))
def test_commands_are_understood(page, line):
    try:
        cli.parse(shlex.split(line))
    except SystemExit as stop:
        assert stop.code == 0, f"{page}: python3 -m course {line}"


def test_every_command_is_in_the_table():
    listed = [code(row[0])[0].split()[0] for row in rows(README, "Commands")]
    assert sorted(listed) == sorted(cli.COMMANDS)


# --------------------------------------------------------------------------------------- syllabus


def test_syllabus_lists_every_lecture_with_its_state_of_today():
    table = rows(README, "Syllabus")
    assert len(table) == len(syllabus.LECTURES)
    for lecture, (title, question, state, problem_set, set_state) in zip(
        syllabus.LECTURES, table, strict=True
    ):
        name = f"{lecture.number} {lecture.title}"
        assert title == linked(name, f"notebooks/{lecture.name}.ipynb", lecture.ready)
        assert state == ("ready" if lecture.ready else "planned"), name
        assert question.endswith("?")
        if lecture.problem_set is None:
            assert (problem_set, set_state) == ("", "")
            continue
        ready = lecture.problem_set_ready
        file = f"assignments/{lecture.problem_set}/{lecture.problem_set}.ipynb"
        assert problem_set == linked(lecture.problem_set, file, ready)
        assert set_state == ("ready" if ready else "planned"), lecture.problem_set


def linked(words, target, ready):
    return f"[{words}]({target})" if ready else words


def test_syllabus_knows_every_notebook():
    lectures = {lecture.name for lecture in syllabus.LECTURES}
    sets = {lecture.problem_set for lecture in syllabus.LECTURES}
    assert {path.stem for path in ROOT.glob("notebooks/*.ipynb")} <= lectures
    for folder in ("solutions", "assignments"):
        assert {path.stem for path in (ROOT / folder).glob("*/*.ipynb")} <= sets


@pytest.mark.parametrize("lecture", [x for x in syllabus.LECTURES if x.ready], ids=lambda x: x.name)
def test_a_lecture_is_called_as_in_the_syllabus(lecture):
    page = text(ROOT / "notebooks" / f"{lecture.name}.ipynb")
    assert page.splitlines()[0] == f"# {lecture.title}"


@pytest.mark.parametrize("problem_set", sets.all_sets(), ids=lambda each: each.name)
def test_an_assignment_is_what_its_solution_makes(problem_set):
    assert release.outdated(problem_set) is None, "mend it with: python3 -m course release"


# ----------------------------------------------------------------------------------- who may import


def layers():
    """The table of CONTRIBUTING.md: what each part of the course may import from it."""
    return {
        part: {"everything"} if allowed == "everything" else set(code(allowed))
        for parts, allowed, *_ in rows(CONTRIBUTING, "Which part may import which")
        for part in code(parts)
    }


def imports(path):
    """The parts of the course that a module or a notebook imports, wherever in it."""
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(ast.parse(python(path))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*above, *filter(None, [node.module])])
            names = [f"{module}.{alias.name}" for alias in node.names]
        for name in names:
            if re.match(r"course\.[a-z_]", name):
                yield name.split(".")[1]


def python(path):
    """The Python of a module or a notebook: no cells of CUDA C++, no magics."""
    if path.suffix == ".py":
        return path.read_text(encoding="utf-8")
    cells = [c["source"] for c in notebooks.read(path)["cells"] if c["cell_type"] == "code"]
    lines = "\n".join(cell for cell in cells if not cell.startswith("%%")).splitlines()
    return "\n".join("pass" if re.match(r"\s*[%!]", line) else line for line in lines)


def test_imports_point_down():
    allowed = layers()
    files = [
        (path, path.relative_to(ROOT / "course").parts[0].removesuffix(".py"))
        for path in (ROOT / "course").rglob("*.py")
    ]
    files += [(path, path.relative_to(ROOT).parts[0] + "/") for path in NOTEBOOKS]
    for path, part in files:
        if path.name == "__init__.py" and part == "__init__":
            continue
        name = path.relative_to(ROOT).as_posix()
        assert part in allowed, f"{name}: CONTRIBUTING.md does not say what {part} may import"
        if "everything" in allowed[part]:
            continue
        wrong = set(imports(path)) - allowed[part] - {part}
        assert not wrong, f"{name} imports {', '.join(sorted(wrong))}"


def test_the_table_of_imports_has_no_circle():
    allowed = layers()
    done = {"everything"}
    while ready := [
        part for part, others in allowed.items() if part not in done and others <= done
    ]:
        done.update(ready)
    assert done >= set(allowed), f"in a circle, or without a row: {set(allowed) - done}"
