"""A pytest plugin for numba-cuda's own tests: the virtual GPU below, one line of JSON a test."""

import json
import os
import signal

import pytest

from course import gpu  # noqa: F401 - adapts numba.cuda

_SECONDS = int(os.environ.get("UPSTREAM_SECONDS", "60"))


@pytest.fixture(scope="class")
def initialize_from_pytest_config(request):
    """Stand for the fixture that numba-cuda's repository has and its wheel has not."""
    request.cls._dump_failed_filechecks = False


def _write(**record):
    with open(os.environ["UPSTREAM_LOG"], "a", encoding="utf-8") as log:
        log.write(json.dumps(record) + "\n")


def pytest_collectreport(report):
    if report.failed:
        _write(test=report.nodeid, outcome="failed", text=str(report.longrepr), error="collection")


def pytest_runtest_logstart(nodeid):
    _write(test=nodeid, outcome="started")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    def too_long(*_):
        raise TimeoutError(f"no end after {_SECONDS} s")

    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(_SECONDS)
    try:
        return (yield)
    finally:
        signal.alarm(0)


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        outcome, text = report.outcome, ""
        if report.skipped and not hasattr(report, "wasxfail"):
            text = report.longrepr[2]
        elif hasattr(report, "wasxfail"):
            outcome, text = "skipped", f"expected to fail: {report.wasxfail}"
        elif report.failed:
            text = str(report.longrepr)
        error = text.splitlines()[-1] if text else ""
        _write(test=report.nodeid, outcome=outcome, text=text, error=error, s=report.duration)
