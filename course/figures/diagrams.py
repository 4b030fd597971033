"""Diagrams: how things are put together, with the numbers that somebody else computed."""

from collections.abc import Mapping

from matplotlib.figure import Figure

from course.figures import style
from course.figures.sketch import Sketch
from course.specs import quantity

#: The matrix products of a transformer block, in their order, as `transformer_block` knows them.
MATMULS = {
    "qkv": "Q, K, V projections",
    "scores": "scores  S = Q Kᵀ / √d",
    "values": "O = P V",
    "out": "output projection",
    "up": "MLP up",
    "down": "MLP down",
}

#: The whole block from top to bottom: matrix products by key, everything else by its name.
BLOCK = (
    "LayerNorm",
    "qkv",
    "scores",
    "P = softmax(S)",
    "values",
    "out",
    "+",
    "LayerNorm",
    "up",
    "GELU",
    "down",
    "+",
)


@style.styled
def transformer_block(matmuls: Mapping[str, tuple[str, float]], *, title: str = "") -> Figure:
    """Draw a pre-norm transformer block with the shapes and FLOPs of its matrix products.

    Parameters
    ----------
    matmuls : mapping of str to (str, float)
        For keys of `MATMULS`: the shapes, as they should be written, and the FLOPs. A product that
        is left out is drawn without numbers.
    title : str
        Heading.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If a key is unknown or a number of FLOPs negative.
    """
    for key, (_, flops) in matmuls.items():
        if key not in MATMULS or flops < 0:
            raise ValueError(
                f"transformer_block() expects FLOPs for {', '.join(MATMULS)}, not {key!r}: {flops}."
            )
    largest = max((flops for _, flops in matmuls.values()), default=0) or 1
    sketch = Sketch(8, 8.0)
    if title:
        sketch.text(0.1, 0.2, title, align="left", size=style.LARGE, bold=True)
    for x, head in ((_SHAPES, "matrix shapes"), (_FLOPS, "FLOPs")):
        sketch.text(x, 0.63, head, align="left", size=style.SMALL, colour=style.GREY)
    sketch.text(_CENTRE, 0.63, "x", bold=True)
    end, branch, y = 0.78, 0.85, 1.05
    for part in BLOCK:
        sketch.arrow((_CENTRE, end), (_CENTRE, y))
        end = y + _HIGH
        if part == "+":
            # the residual path: from before the norm, down the left side, back into the sum
            middle = y + _HIGH / 2
            sketch.box(_CENTRE - 0.18, y, 0.36, _HIGH, "+", bold=True, size=style.LARGE)
            sketch.arrow((_CENTRE, branch), (0.4, branch), (0.4, middle), (_CENTRE - 0.18, middle))
            branch = end + 0.1
            y += 0.2
        elif part in MATMULS:
            sketch.box(
                _LEFT, y, _WIDE, _HIGH, MATMULS[part], face="#DCEBF5", edge=style.BLUE, line=2
            )
            if part in matmuls:
                _numbers(sketch, y, *matmuls[part], largest)
        else:
            sketch.box(_LEFT, y, _WIDE, _HIGH, part, face=style.PALE)
        y += _HIGH + 0.16
    sketch.arrow((_CENTRE, end), (_CENTRE, y))
    sketch.text(_CENTRE, y + 0.13, "y", bold=True)
    return sketch.figure


#: Columns of the block's diagram, and the height of a box, in inches.
_LEFT, _WIDE, _SHAPES, _FLOPS, _BARS, _HIGH = 0.75, 2.35, 3.4, 5.7, 6.95, 0.36
_CENTRE = _LEFT + _WIDE / 2


def _numbers(sketch: Sketch, y: float, shapes: str, flops: float, largest: float) -> None:
    """Write a product's shapes and FLOPs beside its box, with a bar as long as they are many."""
    middle = y + _HIGH / 2
    sketch.text(_SHAPES, middle, shapes, width=2.2, align="left", size=style.SMALL)
    sketch.text(_FLOPS, middle, quantity(flops, "FLOP", 4), width=1.2, align="left")
    sketch.rectangle(_BARS, y + 0.06, 0.95 * flops / largest, _HIGH - 0.12, face=style.BLUE)


@style.styled
def attention_shapes(
    queries: int,
    keys: int,
    head_dim: int,
    *,
    flops: Mapping[str, float] | None = None,
    title: str = "",
) -> Figure:
    """Draw the two products of attention for one head: S = QKᵀ/√d and O = PV, with their shapes.

    Longer sides are drawn longer, but not to scale, and the figure says so.

    Parameters
    ----------
    queries, keys, head_dim : int
        N_q, N_k and d.
    flops : mapping of str to float, optional
        FLOPs of ``"scores"`` and ``"values"``.
    title : str
        Heading.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If a size is not positive.
    """
    if min(queries, keys, head_dim) < 1:
        raise ValueError(
            f"attention_shapes() expects positive sizes, not {queries}, {keys}, {head_dim}."
        )
    longest = max(queries, keys, head_dim)
    n, m, d = (0.5 + 1.0 * (size / longest) ** 0.5 for size in (queries, keys, head_dim))
    flops = flops or {}
    sketch = Sketch(8, 5.7)
    if title:
        sketch.text(0.1, 0.2, title, align="left", size=style.LARGE, bold=True)
    sketch.text(7.9, 0.2, "not to scale", align="right", size=style.SMALL, colour=style.GREY)
    length = {"N_q": n, "N_k": m, "d": d}
    number = {"N_q": queries, "N_k": keys, "d": head_dim}
    rows = (
        (1.45, "scores", "/ √d =", ("Q", "N_q", "d"), ("Kᵀ", "d", "N_k"), ("S", "N_q", "N_k")),
        (4.25, "values", "=", ("P", "N_q", "N_k"), ("V", "N_k", "d"), ("O", "N_q", "d")),
    )
    for middle, key, equals, *matrices in rows:
        for x, sign, (name, high, wide) in zip(
            (1.1, 3.3, 5.5), ("", "×", equals), matrices, strict=True
        ):
            _matrix(sketch, x, middle, length[wide], length[high], name)
            shape = f"{number[high]:,} × {number[wide]:,}\n${high}$ × ${wide}$"
            below = middle + length[high] / 2 + 0.28
            sketch.text(x, below, shape, width=2, size=style.SMALL)
            sketch.text(x - 1.1, middle, sign, size=13)
        sketch.text(7.15, middle, "$2\\, N_q N_k d$", size=style.SMALL, colour=style.GREY)
        if key in flops:
            sketch.text(7.15, middle + 0.25, quantity(flops[key], "FLOP", 4), width=1.5)
    start, end = 1.45 + n / 2 + 0.52, 4.25 - n / 2 - 0.08
    turn = 2.9
    sketch.arrow((5.5, start), (5.5, turn), (1.1, turn), (1.1, end))
    sketch.text(3.3, turn + 0.17, "softmax of each row: P = softmax(S)", size=style.SMALL)
    return sketch.figure


#: Face and hatch of the matrices of attention: the same matrix looks the same everywhere.
_LOOKS = {
    "Q": (style.BLUE, ""),
    "Kᵀ": (style.GREEN, "////"),
    "S": (style.ORANGE, "...."),
    "P": (style.ORANGE, "xxxx"),
    "V": (style.PINK, "\\\\\\\\"),
    "O": (style.SKY, ""),
}


def _matrix(sketch: Sketch, x: float, y: float, width: float, height: float, name: str) -> None:
    """Draw one matrix centred at (x, y), with its name on it."""
    face, hatch = _LOOKS[name]
    sketch.rectangle(x - width / 2, y - height / 2, width, height, face=face, hatch=hatch)
    sketch.box(x - 0.2, y - 0.17, 0.4, 0.34, name, edge="white", bold=True)
