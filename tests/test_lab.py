"""The first thing a newcomer sees: the lecture, in JupyterLab, in a browser, with its cells run."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from queue import Queue

import pytest

from course import ROOT, doctor

NOTEBOOK = ROOT / "notebooks" / "00_start_here.ipynb"
SCREENSHOT = ROOT / ".cache" / "tests" / "lab.png"
CHROMIUM = doctor.find_chromium()
#: No sandbox as root; nothing that talks to the network on its own.
SWITCHES = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
#: Nothing is saved over the committed notebook, and every cell is in the page, seen or not.
SETTINGS = {
    "@jupyterlab/docmanager-extension/plugin": {"autosave": False},
    "@jupyterlab/notebook-extension/tracker": {"windowingMode": "none"},
}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium or Chrome is installed here"),
]


@pytest.fixture
def address(tmp_path):
    """Run `course lab` on a free port, away from the settings of whoever runs the test."""
    for name, setting in SETTINGS.items():
        file = tmp_path / "settings" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(setting), encoding="utf-8")
    folders = {
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
    }
    places = {variable: str(tmp_path / folder) for variable, folder in folders.items()}
    server = subprocess.Popen(
        [sys.executable, "-m", "course", "lab", "--no-browser", "--port", "0"],
        cwd=ROOT,
        env=os.environ | places,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    lines: Queue[str] = Queue()
    threading.Thread(target=lambda: [*map(lines.put, server.stdout)], daemon=True).start()
    said = ""
    try:
        while not (found := re.search(r"http://\S+token=\w+", said)):
            said += lines.get(timeout=60)
        yield found[0]
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(30)
    assert server.returncode == 0, said


@pytest.fixture
def page(address):
    """A browser's page with JupyterLab in it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)
        page = browser.new_page(viewport={"width": 1400, "height": 2600})
        page.set_default_timeout(60_000)
        page.goto(address)
        yield page
        browser.close()


def test_the_first_lecture_opens_and_runs(page):
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    before = NOTEBOOK.read_bytes()

    notebook = page.locator(".jp-Notebook")
    title = re.match(r"# (.*)", "".join(cells[0]["source"]))[1]
    heading = notebook.get_by_role("heading", level=1).filter(has_text=title)
    heading.wait_for()
    page.locator('.jp-Notebook-ExecutionIndicator[data-status="idle"]').wait_for()

    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    prompts = notebook.locator(".jp-CodeCell .jp-InputArea-prompt")
    numbered = prompts.filter(has_text=re.compile(r"\[\d+\]"))
    last = numbered.filter(has_text=f"[{len(code)}]")
    errors = notebook.locator('[data-mime-type="application/vnd.jupyter.stderr"]')
    last.or_(errors).first.wait_for(timeout=120_000)

    SCREENSHOT.parent.mkdir(parents=True, exist_ok=True)
    heading.scroll_into_view_if_needed()
    page.screenshot(path=SCREENSHOT)
    assert errors.all_inner_texts() == []
    assert numbered.count() == len(code)
    outputs = notebook.locator(".jp-OutputArea-output").all_inner_texts()
    assert any(re.match(r"T[0-3]: ", text) for text in outputs), outputs
    assert NOTEBOOK.read_bytes() == before
