"""Let pytest collect check_gpu.py, which is a script too, and check_numba.py."""

import pytest


def pytest_collect_file(file_path, parent):
    if file_path.name in ("check_gpu.py", "check_numba.py"):
        return pytest.Module.from_parent(parent, path=file_path)
    return None
