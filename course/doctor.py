"""What this machine is, as data and in plain words; needs none of the course's packages."""

import os
import platform
import shutil
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from course import ROOT, environment, requirements, tiers

#: The compilers for CUDA C++, by the package that brings them.
COMPILERS = {"nvidia-cuda-nvrtc": "NVRTC", "ziglang": "zig clang"}

#: What the course can do without, and the package or program that brings it.
TOOLS = {
    COMPILERS[tiers.compiler()]: (tiers.compiler(), "compiles CUDA C++"),
    "nvdisasm": ("nvidia-cuda-nvdisasm", "shows machine code (SASS)"),
    "numba-cuda": ("numba-cuda", "compiles kernels written in Python"),
}

#: Chromium under its usual names, and where Chrome installs itself off the PATH.
BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
)


#: What COURSE_DEVICE may say.
DEVICES = ("cuda", "virtual")


def examine() -> dict[str, Any]:
    """Return what this machine is: numbers, names and versions, None for what is missing."""
    pins = requirements.read()
    versions = {pin.name: requirements.installed(pin.name) for pin in pins}
    return {
        "tier": asdict(tiers.detect()),
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "free_disk_gb": round(shutil.disk_usage(ROOT).free / 1e9, 1),
        "python": platform.python_version(),
        "executable": sys.executable,
        "course_device": os.environ.get("COURSE_DEVICE"),
        "environment": _environment(),
        "packages": versions,
        "differences": [asdict(difference) for difference in requirements.differences(pins)],
        "tools": {name: requirements.installed(package) for name, (package, _) in TOOLS.items()},
        "chromium": find_chromium(),
    }


def find_chromium() -> str | None:
    """Return the path of a Chromium or Chrome that Playwright can drive, None if there is none."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def describe(report: dict[str, Any]) -> str:
    """Return `report`, which `examine` made, as text for the terminal."""
    tier = tiers.Tier(**report["tier"])
    rows = [
        ("system", f"{report['system']}, {report['machine']}, {report['cores']} cores"),
        ("disk", f"{report['free_disk_gb']} GB free"),
        ("Python", f"{report['python']} ({report['executable']})"),
        ("packages", _packages(report)),
    ]
    if report["course_device"]:
        rows.append(("device", f"COURSE_DEVICE={report['course_device']} decides"))
    for name, (_, purpose) in TOOLS.items():
        rows.append((name, report["tools"][name] or f"missing ({purpose})"))
    rows.append(("browser", report["chromium"] or "no Chromium (only a test needs one)"))
    lines = [tiers.describe(tier), "", *(f"  {name:<11}{value}" for name, value in rows)]
    if report["environment"] == "none":
        return "\n".join([*lines, "", "Next: python3 -m course sets up what is missing."])
    for found in report["differences"]:
        lines.append(f"  {'':<11}{requirements.Difference(**found)}")
    return "\n".join([*lines, "", "What this machine can do:", *_abilities(tier, report)])


def _environment() -> str:
    """Return ``.venv``, ``active`` (this Python as it is) or ``none`` (not set up yet)."""
    if Path(sys.prefix).resolve() == environment.VENV.resolve():
        return ".venv"
    chosen = os.environ.get("COURSE_ENV") == "active"
    if chosen or not requirements.differences(requirements.read()):
        return "active"
    return "none"


def _packages(report: dict[str, Any]) -> str:
    if report["environment"] == "none":
        return f"not set up ({environment.state().reason.rstrip('.')})"
    total, differing = len(report["packages"]), len(report["differences"])
    return f"{total - differing} of {total} as pinned in requirements.txt"


def _abilities(tier: tiers.Tier, report: dict[str, Any]) -> list[str]:
    """Say in sentences what a machine of `tier` with the packages of `report` can do."""
    able, unable = [], []
    wanted = report["course_device"]
    if wanted and wanted not in DEVICES:
        known = " or ".join(DEVICES)
        unable.append(f"run a kernel while COURSE_DEVICE is {wanted!r}: unset it, or say {known}")
        tier = replace(tier, level=-1)
    lectures = "open every lecture and solve every problem set for full marks"
    (able if report["packages"].get("jupyterlab") else unable).append(lectures)
    if tiers.has_compiler():
        assembles = tiers.compiler() != "ziglang" and report["tools"]["nvdisasm"]
        code = "PTX and SASS" if assembles else "PTX"
        able.append(f"compile CUDA C++ for any GPU from Turing to Blackwell and show its {code}")
    if tier.level == 0 and tiers.has_virtual_gpu():
        able.append("run kernels on the virtual GPU, which checks and counts; it is no stopwatch")
    if tier.level >= 1:
        able.append(f"run CUDA C++ and numba kernels on the {tier.gpu} and time them")
    if tier.level >= 2:
        able.append("run kernels with bf16 tensor cores and asynchronous copies (sm_80)")
    if tier.level == 3:
        able.append("run the Hopper kernels: TMA, wgmma, FlashAttention (sm_90a)")
    beyond = {
        0: "run kernels on a real GPU, or time them" + (f" ({tier.note})" if tier.note else ""),
        1: "run kernels that need sm_80 or sm_90a on its GPU",
        2: "run the Hopper kernels on its GPU: they need sm_90a, an H100 or H200",
    }
    unable += [beyond[tier.level]] if tier.level in beyond else []
    return [f"  + {what}" for what in able] + [f"  - not: {what}" for what in unable]
