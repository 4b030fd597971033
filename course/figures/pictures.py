"""How the course runs, in one picture: from source to a GPU, or to a laptop without one."""

from matplotlib.figure import Figure

from course.figures import style
from course.figures.sketch import Sketch

CUDA = """__global__
void scale(float *x)
{
  int i = threadIdx.x;
  x[i] = 2 * x[i];
}"""

NUMBA = """@cuda.jit
def scale(x):
    i = cuda.grid(1)
    x[i] = 2 * x[i]"""

PTX = """mov.u32        %r1, %tid.x;
...
ld.global.f32  %f1, [%rd4];
add.f32        %f2, %f1, %f1;
st.global.f32  [%rd4], %f2;"""


@style.styled
def toolchain() -> Figure:
    """Draw the way of a kernel: source, PTX, then a virtual GPU on the CPU or a real GPU."""
    sketch = Sketch(10, 4.9)
    _code(sketch, 0.15, 0.45, 2.2, 1.75, "CUDA C++", CUDA, style.BLUE)
    _code(sketch, 0.15, 2.75, 2.2, 1.45, "Python (numba)", NUMBA, style.GREEN)
    _code(sketch, 3.65, 1.55, 2.45, 1.55, "PTX", PTX, style.INK)
    sketch.arrow((2.35, 1.35), (2.95, 1.35), (2.95, 2.1), (3.65, 2.1))
    sketch.arrow((2.35, 3.45), (2.95, 3.45), (2.95, 2.6), (3.65, 2.6))
    sketch.text(2.97, 1.12, "NVRTC", size=style.SMALL, colour=style.GREY)
    sketch.text(2.97, 3.68, "NVVM", size=style.SMALL, colour=style.GREY)
    sketch.text(4.87, 3.32, "the compilers need no GPU", size=style.SMALL, colour=style.GREY)

    sketch.arrow((6.1, 2.1), (6.5, 2.1), (6.5, 1.25), (7.0, 1.25))
    sketch.arrow((6.1, 2.6), (6.5, 2.6), (6.5, 3.6), (7.0, 3.6))
    sketch.text(6.5, 3.83, "ptxas", size=style.SMALL, colour=style.GREY)
    _chip(sketch, 7.0, 0.45, "virtual GPU", "on your CPU", 2, style.ORANGE, "////")
    _chip(sketch, 7.0, 2.8, "NVIDIA GPU", "if you have one", 5, style.RED, "")
    sketch.text(8.4, 2.2, "results, faults with their line, counts", size=style.SMALL, bold=True)
    sketch.text(8.4, 4.55, "results, time", size=style.SMALL, bold=True)
    return sketch.figure


def _code(
    sketch: Sketch, x: float, y: float, width: float, height: float, name: str, code: str, edge: str
) -> None:
    """Draw a listing with its name above."""
    sketch.box(x, y, width, height, edge=edge, line=2)
    sketch.text(x + 0.05, y - 0.18, name, align="left", bold=True)
    sketch.text(
        x + 0.12, y + height / 2, code, align="left", size=8.5, width=width - 0.2, code=True
    )


def _chip(
    sketch: Sketch, x: float, y: float, name: str, where: str, cores: int, face: str, hatch: str
) -> None:
    """Draw a chip of `cores` × `cores` cores and say what it is."""
    side, gap = 1.3, 0.09
    sketch.box(x, y, 1.6, 1.6, edge=style.INK, line=1.5, face=style.PALE)
    cell = (side - gap * (cores - 1)) / cores
    for row in range(cores):
        for column in range(cores):
            sketch.rectangle(
                x + 0.15 + column * (cell + gap),
                y + 0.15 + row * (cell + gap),
                cell,
                cell,
                face=face,
                hatch=hatch,
            )
    sketch.text(x + 1.72, y + 0.65, name, align="left", bold=True, width=1.25)
    sketch.text(x + 1.72, y + 0.92, where, align="left", size=style.SMALL, width=1.25)
