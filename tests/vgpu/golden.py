"""What a real GPU made of the opcode forms and cases, in a form small enough to keep.

Results are kept as digests, one for each variant of a form and each block size; any NaN counts as
the same, and what PTX leaves undefined as zero. Of forms that only approximate, all results with
varying operands are kept.
"""

import base64
import dataclasses
import hashlib
import json
import re
import zlib
from pathlib import Path

import exact
import fuzz
import numpy as np
from forms import SOURCES, Bound, Form

FOLDER = Path(__file__).parent / "golden"
#: Bytes of a digest: with 30,000 of them, one wrong result hides with probability 1e-5.
DIGEST_BYTES = 4


def digests(builder: fuzz.Builder, data: fuzz.Data, out: np.ndarray, block: int) -> dict[str, str]:
    """Return the digest of each variant's results, all threads, by the variant's name."""
    return {v.name: _digest(v, builder, data, out, block) for v in builder.variants}


def _digest(
    variant: fuzz.Variant, builder: fuzz.Builder, data: fuzz.Data, out: np.ndarray, block: int
) -> str:
    form, parts = variant.form, []
    defined = _defined(variant, data, block)
    for place, kind in enumerate(form.results):
        raw = fuzz.result(variant, place, builder, out)
        parts.append(np.where(defined, one_nan(kind, raw), 0).astype(raw.dtype).tobytes())
    return hashlib.blake2b(b"".join(parts), digest_size=DIGEST_BYTES).hexdigest()


def _defined(variant: fuzz.Variant, data: fuzz.Data, block: int) -> np.ndarray:
    form = variant.form
    if form.defined is None:
        return np.ones(fuzz.THREADS, bool)
    raws = [data.operand(variant, p, block).tolist() for p in range(len(form.sources))]
    values = ([fuzz.read(k, r) for k, r in zip(form.sources, raw, strict=True)]
              for raw in zip(*raws, strict=True))  # fmt: skip
    return np.array([bool(form.defined(*v)) for v in values])


def one_nan(kind: str, raw: np.ndarray) -> np.ndarray:
    """Return raw results with every NaN of a floating-point type replaced by the same one."""
    name = kind.partition(":")[0]
    packed = name.endswith("x2") and name[:-2] in exact.FORMATS
    f = exact.FORMATS.get(name[:-2] if packed else "f32" if name == "tf32" else name)
    if f is None:
        return raw
    for shift in (0, f.bits) if packed else (0,):
        code = raw >> raw.dtype.type(shift) & raw.dtype.type((1 << f.bits) - 1)
        rest = code & raw.dtype.type(f.sign - 1)
        nan = rest > f.top if f.infinity else rest == f.top
        cleared = raw & raw.dtype.type(~(((1 << f.bits) - 1) << shift) % (1 << 8 * raw.itemsize))
        raw = np.where(nan, cleared | raw.dtype.type(f.nan << shift), raw)
    return raw


def approximations(builder: fuzz.Builder, out: np.ndarray) -> dict[str, np.ndarray]:
    """Return the raw results of each bounded form, operands varying, by the form's name."""
    chosen = (v for v in builder.variants if v.form.bound and not v.guard)
    return {
        v.form.name: fuzz.result(v, 0, builder, out) for v in chosen if set(v.operands) == {"v"}
    }


def apart(form: Form, ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Say where two approximations cannot both lie within the bound of the true value."""
    twice = Bound(*(2 * x for x in dataclasses.astuple(form.bound)))
    wide, kind = dataclasses.replace(form, bound=twice), form.results[0]
    values = [_floats(kind, raw) for raw in theirs.tolist()]
    pairs = zip(ours.tolist(), values, strict=True)
    return np.array([not fuzz.agrees(wide, kind, got, want) for got, want in pairs])


def _floats(kind: str, raw: int) -> float | tuple[float, ...]:
    if kind.endswith("x2"):
        f = exact.FORMATS[kind[:-2]]
        halves = (raw & ((1 << f.bits) - 1), raw >> f.bits)
        return tuple(exact.to_float(exact.decode(h, f)) for h in halves)
    return exact.to_float(exact.decode(raw, exact.FORMATS[kind]))


def group(form: Form) -> str:
    """Return what decides which operands a form gets."""
    return " ".join([*form.sources, *(f"{k}={v}" for k, v in form.values)])


def inputs_digest(data: fuzz.Data) -> str:
    """Return a digest of operands: golden results hold for these only."""
    parts = [a[s].tobytes() for a in (data.varying, data.uniform) for s in SOURCES if s in a]
    return hashlib.blake2b(b"".join(parts), digest_size=DIGEST_BYTES).hexdigest()


def pack(values: np.ndarray) -> str:
    """Return an array as text."""
    return base64.b85encode(zlib.compress(values.tobytes(), 9)).decode()


def unpack(text: str, dtype: np.dtype) -> np.ndarray:
    """Return the array that `pack` made text of."""
    return np.frombuffer(zlib.decompress(base64.b85decode(text)), dtype)


def read(name: str) -> dict:
    """Return a golden file."""
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


def write(path: Path, record: dict) -> None:
    """Write a golden file, one line for each result."""
    text = json.dumps(record, indent=1, ensure_ascii=False)
    text = re.sub(r"\[\s+(\"\w*\"),\s+(\"\w*\")\s+\]", r"[\1, \2]", text)
    path.write_text(text + "\n", encoding="utf-8")
