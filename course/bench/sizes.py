"""Products of matrices of growing size by the library: a bigger one can be faster.

Launches are replayed from a CUDA graph, so that the time to start them from Python is left out; the
same product launched from Python is measured beside it.
"""

from collections.abc import Callable, Iterator

import torch
from tqdm import tqdm

from course.bench import Record
from course.bench.clock import need_a_gpu, seconds

#: Sizes of square products.
SQUARES = (64, 128, 256, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384)
#: Rows, inner size and columns of a language model's last layer; its vocabulary, and a padded one.
VOCABULARIES = ((8192, 768, 50257), (8192, 768, 50304))
#: Neighbours of a size that suits the hardware.
NEIGHBOURS = (4096, 4097, 4098, 4100, 4104, 4112, 4128, 4160, 4224)


def run() -> list[Record]:
    """Measure everything; about half a minute on an H200.

    Raises
    ------
    Problem
        There is no real GPU here.
    """
    need_a_gpu("sizes")
    shapes = [(n, n, n) for n in SQUARES] + list(VOCABULARIES) + [(n, n, n) for n in NEIGHBOURS]
    shapes = list(dict.fromkeys(shapes))
    return [r for shape in tqdm(shapes, "bench sizes", unit="product") for r in _product(*shape)]


def _product(m: int, k: int, n: int) -> Iterator[Record]:
    a = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
    b = torch.randn(k, n, device="cuda", dtype=torch.bfloat16)
    out = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
    repeats = max(3, min(200, int(2e-3 / (2 * m * n * k / 600e12) + 1)))

    def product() -> None:
        torch.mm(a, b, out=out)

    case, work = f"bf16 {m} x {k} x {n}", 2 * m * n * k
    for variant, time in (
        ("graph", seconds(_graph(product, repeats), launches=7) / repeats),
        ("launched", seconds(lambda: [product() for _ in range(repeats)], launches=7) / repeats),
    ):
        yield Record(case, variant, work / time, "FLOP/s")
        yield Record(case, variant, time, "s")


def _graph(work: Callable[[], None], repeats: int) -> Callable[[], None]:
    """Return a function that replays `repeats` calls of `work`."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(repeats):
            work()
    return graph.replay
