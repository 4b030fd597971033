"""Run the CUDA tests that come with numba-cuda on the virtual GPU, and say what becomes of them.

    python tests/numba/upstream.py                 # all, some ten minutes
    python tests/numba/upstream.py test_atomics    # one file
    python tests/numba/upstream.py --failed        # with the errors of what failed

Each file runs in a process of its own, with a limit for every test and for the file. Many of the
tests read assembler with the package filecheck: `pip install filecheck ml_dtypes` first.
"""

import argparse
import collections
import concurrent.futures
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
#: pytest would give numba's files other module names than they have.
SHIM = """import importlib
_tests = importlib.import_module("{}")
globals().update(
    {{n: v for n, v in vars(_tests).items() if getattr(v, "__module__", "") == _tests.__name__}}
)
"""

#: Folders of tests without CUDA kernels, or that only the simulator or a benchmark runs.
SKIPPED_FOLDERS = {"cudasim", "benchmarks", "nocuda", "core"}

#: Why a test that fails does not apply here: a pattern for its name or its error, and the reason.
REASONS = [
    ("calls through a function pointer", "function pointers: destructors of numba's own memory"),
    ("the call of malloc", "memory allocated in a kernel"),
    ("recursive device functions", "recursion"),
    ("DynamicLibNotFoundError", "asks NVIDIA's driver library itself"),
    (r"cuda\.core\.", "takes objects of the package cuda-core"),
    (r"test_ipc\.py", "memory shared between processes"),
    ("opcode: 'tensormap", "tensor maps"),
    (
        r"(transpose|test_freevar|test_issue_2393|test_sm_creation)[\s\S]*which nobody has written",
        "the test itself stores memory that nobody wrote: a fault here",
    ),
    ("test_cuda_disabled", "wants to find no GPU; the virtual one is always there"),
    ("test_multiprocessing", "wants CUDA to fail in a forked process"),
    ("test_cupy_bfloat16_interop", "needs cupy"),
    ("test_ex_3d_grid", "450 million random numbers: minutes on a CPU"),
    ("launch_bounds promised", "refused as it should be, in other words than the driver's"),
    ("each must lie between", "refused as it should be, in other words than the driver's"),
    (r"test_caching\.py", "numba's own files of compiled kernels: the course keeps them itself"),
    (r"test_debug\.py|test_undefined_var", "compiles anew what the course keeps compiled"),
    (r"test_warning\.py", "warnings about speed, which are off here"),
    ("test_dispatcher_cpointer_arguments", "the test itself reads beyond its arrays"),
    ("test_struct_model_type_arr", "the test itself writes beyond its arrays"),
    (r"test_lineinfo\.py", "wants no line tables, which are always on here"),
    ("test_tuple_of_empty_tuples", "numba's line tables fail for an empty tuple"),
]


def main() -> int:
    """Run what the command line asks for, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="files, such as test_atomics")
    parser.add_argument("--failed", action="store_true", help="show errors")
    parser.add_argument("--json", type=Path, help="write the outcome of every test")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=int, default=900, help="limit for a file")
    options = parser.parse_args()
    records = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        runs = {pool.submit(_run, f, options.seconds): f for f in _files(options.names)}
        for run in concurrent.futures.as_completed(runs):
            found, file = run.result(), runs[run]
            for record in found:
                _judge(record)
            records += found
            counts = collections.Counter(r["outcome"] for r in found)
            print(f"{file.parent.name}/{file.stem}: {dict(counts)}", file=sys.stderr, flush=True)
            if options.json:
                options.json.write_text(json.dumps(records, indent=1), encoding="utf-8")
    records.sort(key=lambda r: r["test"])
    _report(records, options.failed)
    return any(r["outcome"] == "failed" for r in records)


def _files(names: list[str]) -> list[Path]:
    spec = importlib.util.find_spec("numba_cuda")
    folder = Path(spec.submodule_search_locations[0], "numba", "cuda", "tests")
    files = [
        file
        for file in sorted(folder.rglob("test_*.py"))
        if not SKIPPED_FOLDERS & set(file.relative_to(folder).parts)
    ]
    return [f for f in files if f.stem in names] if names else files


def _run(file: Path, seconds: int) -> list[dict]:
    """Run one file and return a record for each of its tests."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        environment = os.environ | {
            "COURSE_DEVICE": "virtual",
            "UPSTREAM_LOG": str(log),
            "PYTHONPATH": os.pathsep.join([folder, str(HERE), os.environ.get("PYTHONPATH", "")]),
            "OMP_NUM_THREADS": "1",
            "NUMBA_CACHE_DIR": folder,
        }
        module = ".".join(file.parts[file.parts.index("numba_cuda") + 1 :]).removesuffix(".py")
        # some tests start Python themselves
        Path(folder, "sitecustomize.py").write_text("import course.gpu", encoding="utf-8")
        shim = Path(folder, file.name)
        shim.write_text(SHIM.format(module), encoding="utf-8")
        command = [
            sys.executable, "-m", "pytest", "-q", "-p", "upstream_plugin", "-p", "no:cacheprovider",
            "--rootdir", folder, "-o", "addopts=", "--tb=short", str(shim),
        ]  # fmt: skip
        end = ""
        try:
            done = subprocess.run(
                command,
                env=environment,
                cwd=folder,
                timeout=seconds,
                capture_output=True,
                text=True,
            )
            said = done.stdout[-500:] + done.stderr[-500:]
            end = f"the process ended with {done.returncode}: {said}"
        except subprocess.TimeoutExpired:
            end = f"the file did not end within {seconds} s"
        lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    records: dict[str, dict] = {}
    for record in map(json.loads, lines):
        if records.get(record["test"], {}).get("outcome") != "failed":
            records[record["test"]] = record
    if not records:
        records[module] = {"test": module, "outcome": "failed", "text": end, "error": "no test ran"}
    for record in records.values():
        record["test"] = f"{file.parent.name}/{record['test']}"
        if record["outcome"] == "started":
            record |= {"outcome": "failed", "text": end, "error": end.splitlines()[0]}
    return list(records.values())


def _judge(record: dict) -> None:
    """Say why a test that did not pass does not apply, if it does not."""
    if record["outcome"] == "skipped":
        record["why"] = f"numba skips it: {record['text'].removeprefix('Skipped: ')}"
    if record["outcome"] == "failed":
        where = f"{record['test']}\n{record['text']}"
        record["why"] = next((why for pattern, why in REASONS if re.search(pattern, where)), "")
        if record["why"]:
            record["outcome"] = "skipped"


def _report(records: list[dict], errors: bool) -> None:
    groups = collections.Counter(r["why"] for r in records if r["outcome"] == "skipped")
    counts = collections.Counter(r["outcome"] for r in records)
    print(f"passed          {counts['passed']:5}")
    print(f"not applicable  {counts['skipped']:5}")
    for why, count in groups.most_common():
        print(f"                {count:5}  {why}")
    print(f"failed          {counts['failed']:5}")
    for record in records:
        if record["outcome"] == "failed":
            print(f"  {record['test']}\n      {record['error']}")
            if errors:
                print(record["text"])


if __name__ == "__main__":
    sys.exit(main())
