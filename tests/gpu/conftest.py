import importlib.util
from pathlib import Path

import pytest
from recording_device import Recorder

from course import gpu
from course.gpu import devices


def pytest_collection_modifyitems(items):
    """Skip what is about NVRTC where it is missing; clang has its own file."""
    if importlib.util.find_spec("cuda") is None:
        for item in items:
            if item.path.parent == Path(__file__).parent and item.path.stem != "test_gpu_clang":
                item.add_marker(pytest.mark.skip(reason="needs NVRTC, which is not here"))


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch):
    """Behave as on a machine without a GPU of any kind, whatever this one has."""
    monkeypatch.delenv("COURSE_DEVICE", raising=False)

    def none():
        raise gpu.NoDevice("it has no NVIDIA driver (libcuda was not found)")

    for kind in devices._KINDS:
        monkeypatch.setitem(devices._KINDS, kind, none)


@pytest.fixture
def recorder():
    with gpu.use(Recorder()) as device:
        yield device
