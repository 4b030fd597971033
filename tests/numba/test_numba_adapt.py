"""When numba.cuda is adapted, and what it says where it cannot be. Each case is a fresh Python."""

import os
import subprocess
import sys

import pytest

from course import ROOT

pytest.importorskip("numba_cuda")

KERNEL = """
import numpy as np
from numba import cuda
@cuda.jit
def add(a):
    i = cuda.grid(1)
    if i < a.size:
        a[i] += 1
a = np.zeros(40, np.float32)
"""
LAUNCH = "add[2, 32](a)\nassert (a == 1).all()\n"


def python(code, **environment):
    """Run `code` in a new interpreter without COURSE_DEVICE, and return what it printed."""
    clean = {k: v for k, v in os.environ.items() if k != "COURSE_DEVICE"}
    environment = clean | {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "default"} | environment
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize(
    "code",
    [
        "from course import gpu" + KERNEL + LAUNCH,
        KERNEL + "from course import gpu\n" + LAUNCH,
        "import numba.cuda\nimport course.gpu" + KERNEL + LAUNCH,
        "import course.gpu, numba" + KERNEL + LAUNCH,
        "from course import gpu\nimport course.gpu" + KERNEL + LAUNCH,
    ],
    ids=["course first", "numba first", "module first", "numba without cuda first", "twice"],
)
def test_the_order_of_imports_does_not_matter(code):
    done = python(code, COURSE_DEVICE="virtual")
    assert done.stdout == "" and done.stderr == "", "a graded cell must stay quiet"


def test_importing_the_course_does_not_import_numba():
    code = "import sys\nfrom course import gpu\nprint('numba' in sys.modules)"
    assert python(code).stdout == "False\n"


#: Stands for a machine with a GPU, as far as the decision is concerned.
WITH_GPU = """
from course.gpu import cuda_device
cuda_device.current = lambda: object()
"""
UNTOUCHED = """
from numba.cuda import dispatcher
from numba.cuda.cudadrv import driver, devicearray
from numba.cuda.core import config
assert "_cuda_python_wrap_fn" not in vars(driver.driver)
for thing in (dispatcher.launch, dispatcher.compile_cuda, dispatcher.CUDADispatcher.call,
              dispatcher.CUDADispatcher.compile, driver._Linker.complete, driver.Function,
              driver.ExperimentalDevice, devicearray._to_strided_memory_view):
    assert not thing.__module__.startswith("course"), thing
assert config.CUDA_LOW_OCCUPANCY_WARNINGS == 1
print("untouched")
"""


def test_with_a_gpu_nothing_is_touched():
    code = "from course import gpu" + WITH_GPU + KERNEL + UNTOUCHED
    assert python(code).stdout == "untouched\n"
    code += "from course.gpu import devices\nprint(len(devices.followers))"
    assert python(code).stdout == "untouched\n1\n"


def test_with_a_gpu_the_variable_decides():
    code = "from course import gpu" + WITH_GPU + KERNEL
    python(code + LAUNCH, COURSE_DEVICE="virtual")
    assert python(code + UNTOUCHED, COURSE_DEVICE="cuda").stdout == "untouched\n"


def test_the_simulator_is_left_alone():
    code = "from course import gpu" + KERNEL + LAUNCH + "print(cuda.simulator.__name__)"
    done = python(code, NUMBA_ENABLE_CUDASIM="1", COURSE_DEVICE="virtual")
    assert done.stdout == "numba.cuda.simulator\n"


#: numba's own numba.cuda, which is what there is without the package numba-cuda.
BUILT_IN = """
import sys
sys.meta_path = [f for f in sys.meta_path if type(f).__name__ != "NumbaCudaFinder"]
from course import gpu
"""
REFUSED = """
assert not cuda.is_available()
try:
    add[2, 32](a)
except Exception as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize(
    ("platform", "words"),
    [
        ("linux", "run on the virtual GPU with the package numba-cuda, which is missing here"),
        ("darwin", "cannot run on macOS: NVIDIA publishes no numba-cuda"),
    ],
)
def test_without_numba_cuda_it_explains_itself(platform, words):
    pretend = "import course.gpu.numba.patches as p, types\n"
    pretend += f"p.sys = types.SimpleNamespace(platform={platform!r})\n"
    done = python(BUILT_IN + pretend + KERNEL + REFUSED, COURSE_DEVICE="virtual")
    assert done.stdout.startswith("CudaSupportError") and words in done.stdout


def test_another_version_of_numba_cuda_says_so():
    spoil = "import numba.cuda.dispatcher\ndel numba.cuda.dispatcher.LaunchConfig\n"
    code = spoil + "from course import gpu" + KERNEL + REFUSED
    done = python(code, COURSE_DEVICE="virtual")
    assert "does not fit the virtual GPU of this course" in done.stdout
    assert "it has no dispatcher.LaunchConfig" in done.stdout
    assert "requirements.txt" in done.stdout


def test_nothing_reaches_stderr():
    """numba warns of small grids, of copies and of functions without a source."""
    code = """
from course import gpu
import numpy as np
from numba import cuda, vectorize
x = np.arange(200, dtype=np.int64)
assert cuda.reduce(lambda a, b: a + b)(x) == x.sum()
exec("def twice(v): return v * 2")
double = vectorize(["float32(float32)"], target="cuda")(twice)
assert double(np.float32([1, 2])).tolist() == [2, 4]
@cuda.jit
def k(a):
    a[0] = 1
k[1, 1](np.zeros(1))
"""
    assert python(code, COURSE_DEVICE="virtual").stderr == ""
