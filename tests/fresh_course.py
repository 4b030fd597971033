"""A small course in a folder of its own: the real command line, one tiny package to install."""

import json
import os
import shutil
import subprocess
import sys
import zipfile

from course import ROOT

#: A Python without the course's packages.
BASE = sys._base_executable

#: Stands in for JupyterLab: says where it runs, and with which version of the tiny package.
LAB = '''
"""Says where it runs."""
HELP = "say where this runs"

def add_arguments(parser):
    parser.add_argument("--code", type=int, default=0)

def run(args):
    import sys, tiny
    print(sys.prefix)
    print(tiny.VERSION)
    return args.code
'''


def make_wheel(folder, name, version):
    """Write a wheel by hand: one module that knows its version."""
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": f"VERSION = {version!r}\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\n"
        "Tag: py3-none-any\n",
    }
    record = "".join(f"{file},,\n" for file in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for file, text in {**files, f"{info}/RECORD": record}.items():
            wheel.writestr(file, text)


class Course:
    """A copy of the course's command line with a requirements.txt of one tiny package."""

    def __init__(self, folder, wheels):
        self.root = folder
        self.wheels = wheels
        self.venv = folder / ".venv"
        (folder / "course").mkdir(parents=True)
        for file in (ROOT / "course").glob("*.py"):
            shutil.copy(file, folder / "course")
        shutil.copytree(ROOT / "course" / "commands", folder / "course" / "commands")
        (folder / "course" / "commands" / "lab.py").write_text(LAB, encoding="utf-8")
        self.require("tiny==1.0")

    def require(self, *lines):
        (self.root / "requirements.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def edit(self, old, new):
        """Change a constant of install.py in the copy."""
        file = self.root / "course" / "install.py"
        text = file.read_text(encoding="utf-8")
        assert text.count(old) == 1
        file.write_text(text.replace(old, new), encoding="utf-8")

    def start(self, *arguments, python=BASE, **variables):
        ours = ("PIP_", "PYTHON", "COURSE_", "VIRTUAL_ENV")
        clean = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
        pip = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.wheels)}
        pip |= {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_CACHE_DIR": "1"}
        return subprocess.Popen(
            [str(python), "-m", "course", *arguments],
            cwd=self.root,
            env=clean | pip | {"PYTHONUTF8": "1"} | variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
        )

    def run(self, *arguments, python=BASE, **variables):
        """Run a command; return exit code, stdout in lines, stderr. Never a traceback."""
        process = self.start(*arguments, python=python, **variables)
        out, err = process.communicate(timeout=120)
        assert "Traceback" not in out + err
        return process.returncode, out.splitlines(), err

    def stamp(self, **changes):
        file = self.venv / "course.json"
        file.write_text(json.dumps(json.loads(file.read_text("utf-8")) | changes), "utf-8")
