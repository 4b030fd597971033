"""The command line: which command runs, what an unknown one is answered, what `test` prints."""

import importlib
import os
import socket
import subprocess
import sys
from argparse import Namespace

import pytest
from fresh_course import BASE, Course

from course import ROOT, Problem, cli, environment
from course.commands import lab, test


@pytest.mark.parametrize(
    ("line", "command", "values"),
    [
        ("", "lab", {"notebook": None, "port": None, "no_browser": False}),
        ("--no-browser --port 9000", "lab", {"port": 9000, "no_browser": True}),
        ("lab notebooks/x.ipynb", "lab", {"notebook": "notebooks/x.ipynb"}),
        ("test", "test", {"all": False, "passed_on": []}),
        ("test -k flops --all -x tests/a.py", "test", {"passed_on": "-k flops -x tests/a.py"}),
        ("doctor --json", "doctor", {"json": True}),
    ],
)
def test_what_a_line_means(line, command, values):
    args = cli.parse(line.split())
    assert args.command == command
    for name, value in values.items():
        found = getattr(args, name)
        assert found == (value.split() if name == "passed_on" and value else value)


@pytest.mark.parametrize(
    ("word", "guess"), [("lba", "lab"), ("tset", "test"), ("docter", "doctor"), ("zzz", None)]
)
def test_unknown_command_gets_a_suggestion(word, guess, capsys):
    assert cli.main([word]) == 1
    said = capsys.readouterr().err
    assert f"There is no command '{word}'." in said
    assert ("Did you mean" in said) == (guess is not None)
    if guess:
        assert f"Did you mean {guess}?" in said
    assert "lab, test, doctor" in said


@pytest.mark.parametrize(
    ("line", "word"), [("lab --prot 9000", "--prot"), ("doctor it", "it"), ("lab a b", "b")]
)
def test_unknown_argument_is_refused(line, word, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(line.split())
    assert stop.value.code == 2
    assert f"does not know {word};" in capsys.readouterr().err


def test_help_needs_no_packages_and_has_one_line_a_command():
    """With a bare Python: the standard library is all that may be imported before the set-up."""
    bare = [BASE, "-I", "-c", "import sys; sys.path.insert(0, '.'); from course import cli; "]
    bare[-1] += "cli.main(['--help'])"
    result = subprocess.run(bare, cwd=ROOT, capture_output=True, encoding="utf-8")
    assert (result.returncode, result.stderr) == (0, "")
    for name in cli.COMMANDS:
        (line,) = [line for line in result.stdout.splitlines() if line.split()[:1] == [name]]
        assert line.endswith(importlib.import_module(f"course.commands.{name}").HELP)


def test_problems_and_ctrl_c_end_without_a_traceback(monkeypatch, capsys):
    def fail(error):
        monkeypatch.setattr(cli, "parse", lambda arguments: Namespace(command="lab", run=run))

        def run(args):
            raise error

        return cli.main([])

    monkeypatch.setattr(environment, "enter", lambda arguments, build: True)
    assert fail(Problem("The disk is full.")) == 1
    assert capsys.readouterr().err == "The disk is full.\n"
    assert fail(KeyboardInterrupt()) == 130
    assert capsys.readouterr().err.strip() == "Stopped."


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("line", ["doctor", "doctor --json", "--help"])
def test_a_reader_that_stops_reading_is_no_error(line, unbuffered):
    """As in ``python3 -m course doctor | head``, where head ends first."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        run = subprocess.run(
            [sys.executable, "-m", "course", *line.split()], cwd=ROOT, stdout=writing,
            stderr=subprocess.PIPE, encoding="utf-8",
            env=os.environ | {"COURSE_ENV": "active", "PYTHONUNBUFFERED": unbuffered},
        )  # fmt: skip
    finally:
        os.close(writing)
    assert run.stderr == ""
    assert run.returncode in (0, 1)  # argparse does not mind; Python's own complaint is 120


def test_a_broken_pipe_of_the_commands_own_is_not_hidden(monkeypatch):
    def run(args):
        raise BrokenPipeError

    monkeypatch.setattr(cli, "parse", lambda arguments: Namespace(command="lab", run=run))
    monkeypatch.setattr(environment, "enter", lambda arguments, build: True)
    with pytest.raises(BrokenPipeError):
        cli.main([])


# --- lab ---------------------------------------------------------------------------------------


def test_notebooks_are_found_from_here_and_from_the_course(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert lab.find("notebooks") == ROOT / "notebooks"
    monkeypatch.chdir(ROOT / "notebooks")
    assert lab.find("../README.md" if (ROOT / "README.md").exists() else "..").is_relative_to(ROOT)
    (tmp_path / "mine.ipynb").touch()
    with pytest.raises(Problem, match="outside the folder of the course"):
        lab.find(str(tmp_path / "mine.ipynb"))


def test_a_missing_notebook_gets_a_suggestion(tmp_path, monkeypatch):
    monkeypatch.setattr(lab, "ROOT", tmp_path)
    monkeypatch.setattr(lab, "START", tmp_path / "notebooks" / "00_start_here.ipynb")
    (tmp_path / "notebooks").mkdir()
    for name in ("00_start_here", "06_counting_flops"):
        (tmp_path / "notebooks" / f"{name}.ipynb").touch()
    with pytest.raises(Problem, match=r"Did you mean notebooks/06_counting_flops\.ipynb\?"):
        lab.find("notebooks/06_count_flops.ipynb")


def test_a_port_in_use_is_refused_if_asked_for(capsys):
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]
        with pytest.raises(Problem, match=f"Port {port} cannot be used"):
            lab.serve(lab.START, port=port)
    with pytest.raises(Problem, match="Port 99999 cannot be used"):
        lab.serve(lab.START, port=99999)


@pytest.mark.parametrize(
    ("variables", "platform", "shown"),
    [
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({}, "linux", False),
        ({"DISPLAY": "localhost:10.0", "SSH_CONNECTION": "1.2.3.4 5 6.7.8.9 22"}, "linux", False),
        ({"SSH_CONNECTION": "1.2.3.4 5 6.7.8.9 22", "BROWSER": "/ide/open"}, "linux", True),
        ({}, "darwin", True),
        ({}, "win32", True),
    ],
)
def test_where_a_browser_can_be_shown(monkeypatch, variables, platform, shown):
    monkeypatch.setattr(os, "environ", variables)
    monkeypatch.setattr(sys, "platform", platform)
    assert lab.can_show_a_browser() == shown


# --- test --------------------------------------------------------------------------------------

PASSING = '''"""A test."""

import pytest


def test_quick():
    """Pass."""


@pytest.mark.slow
def test_slow():
    """Pass, slowly."""
'''


@pytest.fixture
def suite(tmp_path):
    """A course with one quick and one slow test, run by this Python."""
    course = Course(tmp_path / "course of tests", tmp_path)
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    settings = settings.replace("extend-exclude = [", 'extend-exclude = ["course", ')
    (course.root / "pyproject.toml").write_text(settings, encoding="utf-8")
    (course.root / "tests").mkdir()
    (course.root / "tests" / "test_it.py").write_text(PASSING, encoding="utf-8")
    course.require("# nothing")
    return course


def run_suite(course, *arguments):
    code, out, err = course.run("test", *arguments, python=sys.executable)
    assert err == ""
    return code, out


def test_slow_tests_run_with_all_only(suite):
    code, out = run_suite(suite, "-n0", "tests/test_it.py")
    assert (code, out[-1].split(" in ")[0]) == (0, "1 passed, 1 deselected")
    code, out = run_suite(suite, "--all")
    assert (code, out[-1].split(" in ")[0]) == (0, "2 passed")


@pytest.mark.parametrize(
    ("line", "missing"),
    [
        ("nope.py", "nope.py"),
        ("-x tests/test_clii.py::test_a", "tests/test_clii.py"),
        ("nowhere", "nowhere"),
        ("-k nowhere -n 4 -m slow tests/test_cli.py::test_a[a/b]", None),
        ("tests -x --maxfail=2", None),
    ],
)
def test_files_that_are_not_there(line, missing, monkeypatch):
    monkeypatch.chdir(ROOT)
    if missing is None:
        test.require_files(line.split())
        return
    with pytest.raises(Problem) as caught:
        test.require_files(line.split())
    assert f"There is no file or folder {missing} in the course." in str(caught.value)
    assert ("Did you mean tests/test_cli.py?" in str(caught.value)) == ("clii" in line)


def test_a_file_that_is_not_there_gets_one_paragraph(suite):
    code, out, err = suite.run("test", "nope.py", python=sys.executable)
    assert (code, out) == (1, [])
    assert err.startswith("There is no file or folder nope.py in the course.")


def test_failures_of_tests_and_of_style_count(suite):
    file = suite.root / "tests" / "test_it.py"
    file.write_text(PASSING + "\n\ndef test_wrong():\n    assert 1 == 2\n", encoding="utf-8")
    code, out = run_suite(suite, "-n0")
    assert (code, out[-1].split(" in ")[0]) == (1, "1 failed, 1 passed, 1 deselected")
    assert not any("style" in line for line in out)

    file.write_text(PASSING + "import os\nx = {'a':1}\n", encoding="utf-8")
    code, out = run_suite(suite, "-n0")
    assert (code, out[-1].split(" in ")[0]) == (1, "1 passed, 1 deselected, 4 style errors")
    assert any("F401" in line for line in out)
    assert any("reformatted" in line for line in out)


def test_ci_does_what_a_newcomer_does():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "python3 -m course test" in script
    assert subprocess.run(["bash", "-n", ROOT / ".ci" / "run"]).returncode == 0
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
