"""Every lecture: its form, and (slow) that it runs from top to bottom without a complaint."""

import itertools
import re

import nbformat
import pytest
from nbclient import NotebookClient

from course import ROOT, notebooks

LECTURES = sorted(ROOT.joinpath("notebooks").glob("*.ipynb"))


@pytest.fixture(params=LECTURES, ids=lambda path: path.stem)
def path(request):
    return request.param


@pytest.fixture
def cells(path):
    return notebooks.read(path)["cells"]


def prose(cells):
    """The text of all Markdown cells, without the code that is quoted in it."""
    text = "\n\n".join(cell["source"] for cell in cells if cell["cell_type"] == "markdown")
    return re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)


def test_the_file_is_canonical_and_valid(path):
    text = path.read_text(encoding="utf-8")
    assert text == notebooks.canonical(notebooks.read(path))
    nbformat.validate(nbformat.reads(text, as_version=4))


def test_ids_are_short_words(cells):
    ids = [cell["id"] for cell in cells]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-z0-9-]{2,40}", name) for name in ids)


def test_one_title_and_headings_in_order(cells):
    levels = [len(marks) for marks in re.findall(r"^(#+) ", prose(cells), flags=re.MULTILINE)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


def test_it_says_where_it_begins_and_what_you_learn(cells):
    assert "**You will learn**" in cells[0]["source"]
    first = next(cell for cell in cells if cell["cell_type"] == "code")
    assert first["source"].strip() == "from course import tiers\n\ntiers.banner()"


def test_questions_hide_their_answers(cells):
    text = prose(cells)
    numbers = [int(n) for n in re.findall(r"^\*\*Question (\d+)\.\*\*", text, flags=re.MULTILINE)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert 4 <= len(numbers) <= 8
    assert text.count("<details>") == text.count("</details>") >= len(numbers)
    # a blank line after the summary, or what follows is not read as Markdown
    assert len(re.findall(r"</summary>\n\n", text)) == text.count("<details>")


def test_it_asks_for_a_prediction(cells):
    assert any(re.match(r"my_\w+ = \.\.\.", cell["source"]) for cell in cells)


def test_it_says_where_the_numbers_come_from(cells):
    headings = re.findall(r"^#+ (.*)$", prose(cells), flags=re.MULTILINE)
    assert "Where the numbers come from" in headings[-2:]


@pytest.mark.slow
def test_it_runs_quietly_from_top_to_bottom(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": tmp_path}}).execute()
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            assert output.get("name") != "stderr", (cell.id, output.text)
            html = output.get("data", {}).get("text/html", "")
            images = re.findall(r"<img [^>]*>", html)
            assert all(re.search(r'alt="[^"]{20,}"', image) for image in images), cell.id
            assert "image/png" not in output.get("data", {}), (cell.id, "a figure without words")
