import os

import pytest

# before course.gpu is imported: these tests are about the virtual GPU, wherever they run
os.environ.setdefault("COURSE_DEVICE", "virtual")


@pytest.fixture
def rng():
    import numpy as np

    return np.random.default_rng(20240229)
