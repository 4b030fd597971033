"""Let pytest collect check_gpu.py, which is a script too."""

import pytest


def pytest_collect_file(file_path, parent):
    if file_path.name == "check_gpu.py":
        return pytest.Module.from_parent(parent, path=file_path)
    return None
