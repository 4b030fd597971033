"""The counter: a dispatch mode that measures each operator and notes for whom it worked."""

from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any

import torch
from torch import nn
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import TorchDispatchMode

from course.flops.elementwise import arithmetic
from course.flops.modules import ModuleTracker, Path
from course.flops.table import PHASES, Breakdown, Row, si
from course.flops.traffic import bytes_moved
from course.flops.work import Work, base_name, is_nested, tensors

OUTSIDE = "(outside modules)"


def count(model: nn.Module | None = None) -> "FlopCounter":
    """Count what PyTorch operators do inside a ``with`` block.

    Parameters
    ----------
    model
        Where `FlopCounter.by_module` takes the names of modules from. Without it, a module that is
        called from outside any other is named after its class, and those below it by their path.

    Returns
    -------
    FlopCounter
        Enter it with ``with``; entered again, it goes on counting.

    Examples
    --------
    >>> with count(model) as c:
    ...     loss = model(x).sum()
    ...     loss.backward()
    >>> c.flops, c.forward.flops, c.backward.flops
    """
    return FlopCounter(model)


class FlopCounter:
    """What has been counted so far; see the package's docstring for what counts as what."""

    def __init__(self, model: nn.Module | None = None) -> None:
        if model is not None and not isinstance(model, nn.Module):
            raise TypeError(
                f"count() takes a torch.nn.Module, or nothing, but got {type(model).__name__}: it "
                "names the modules in the table. Run the model inside the with block."
            )
        #: Calls of operators that have no formula, by name: their FLOPs are not in any total.
        self.unknown: dict[str, int] = {}
        self._modules = ModuleTracker(model)
        self._done: dict[tuple[Path, str, str], Work] = {}
        self._mode = _CountingMode(self)
        self._entered: ExitStack | None = None

    def __enter__(self) -> "FlopCounter":
        if self._entered is not None:
            raise RuntimeError(
                "This counter is counting already. For a count within the count, enter another "
                "one: with flops.count() as inner."
            )
        with ExitStack() as entered:
            # all nodes of a backward pass run in this thread, numbered in one sequence
            entered.enter_context(torch.autograd.set_multithreading_enabled(False))
            entered.enter_context(torch.compiler.set_stance("force_eager"))
            for hook in self._modules.hooks():
                entered.enter_context(hook)
            entered.enter_context(self._mode)
            self._entered = entered.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        entered, self._entered = self._entered, None
        entered.close()

    @property
    def total(self) -> Work:
        """All work that was done, recomputation included."""
        return _sum(self._done.values())

    @property
    def flops(self) -> int:
        """FLOPs of matrix-multiply-like work that were executed, recomputation included."""
        return self.total.flops

    @property
    def pointwise(self) -> int:
        """Arithmetic of all other operators."""
        return self.total.pointwise

    @property
    def bytes(self) -> int:
        """Bytes that operators read and wrote."""
        return self.total.bytes

    @property
    def forward(self) -> Work:
        """Work done outside of backward passes."""
        return self._phase("forward")

    @property
    def backward(self) -> Work:
        """Work done for gradients."""
        return self._phase("backward")

    @property
    def recompute(self) -> Work:
        """Work of the forward pass that `torch.utils.checkpoint` did again in the backward pass."""
        return self._phase("recompute")

    def by_operator(self) -> Breakdown:
        """Return the work of each operator, the most FLOPs first; views do none: no row."""
        rows: dict[str, dict[str, Work]] = {}
        for (_, operator, phase), work in self._done.items():
            _add(rows.setdefault(operator, {}), phase, work)
        order = sorted(rows, key=lambda name: _rank(rows[name]), reverse=True)
        return self._breakdown("operator", {name: Row(name, **rows[name]) for name in order})

    def by_module(self, depth: int | None = None) -> Breakdown:
        """Return the work of each module: all that was done while its call was running.

        Parameters
        ----------
        depth
            How many levels below the outermost modules to show; all by default.
        """
        rows: dict[str, dict[str, Work]] = {}
        level: dict[str, int] = {}
        for (path, _, phase), work in self._done.items():
            for below, name in enumerate(path or (OUTSIDE,)):
                level[name] = min(below, level.get(name, below))
                if name not in path[:below]:
                    _add(rows.setdefault(name, {}), phase, work)
        shown = {
            name: Row("  " * level[name] + name, **rows[name])
            for name in (*self._modules.names, OUTSIDE)
            if name in rows and (depth is None or level[name] <= depth)
        }
        return self._breakdown("module", shown)

    def __repr__(self) -> str:
        total = self.total
        parts = [
            f"{name} {self._phase(name).flops:,}" for name in PHASES if self._phase(name).calls
        ]
        text = f"{total.flops:,} FLOP ({', '.join(parts)})" if parts else "0 FLOP"
        text += f", {total.pointwise:,} pointwise, {si(total.bytes)}B moved"
        return text + (f"; no formula for {', '.join(self.unknown)}" if self.unknown else "")

    def _phase(self, name: str) -> Work:
        return _sum(work for (_, _, phase), work in self._done.items() if phase == name)

    def _breakdown(self, by: str, rows: dict[str, Row]) -> Breakdown:
        total = Row("total", **{name: self._phase(name) for name in PHASES})
        return Breakdown(by, rows, total, dict(self.unknown))

    def _measure(self, func: OpOverload, args: tuple, kwargs: dict[str, Any], out: Any) -> None:
        path, phase = self._modules.locate()
        moved = bytes_moved(func, args, kwargs, out)
        if not moved:
            return  # a view, or memory that nobody has written to
        name = base_name(func)
        work = arithmetic(func, args, kwargs, out)
        if work is None:
            self.unknown[name] = self.unknown.get(name, 0) + 1
        work = (work or Work()) + Work(bytes=moved, calls=1)
        key = path, name, phase
        self._done[key] = self._done.get(key, Work()) + work


class _CountingMode(TorchDispatchMode):
    """Hand every operator to the counter, those that are made of others in their parts."""

    supports_higher_order_operators = True  # to refuse them in our own words

    def __init__(self, counter: FlopCounter) -> None:
        super().__init__()
        self._counter = counter

    def __torch_dispatch__(
        self, func: Any, types: tuple, args: tuple = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if not isinstance(func, OpOverload):
            raise NotImplementedError(
                f"flops.count() cannot count torch.ops.higher_order.{func}: it runs Python "
                "functions of its own on the tensors, out of the counter's sight. Count an "
                "equivalent without it: an if statement for cond, scaled_dot_product_attention for "
                "flex_attention."
            )
        if func.namespace == "prim":
            return func(*args, **kwargs)  # asks for a device, a shape or a stride
        if any(map(_is_made_of_tensors, types)):
            return NotImplemented  # let it call operators on its parts: they come here again
        out = NotImplemented
        if not any(map(is_nested, tensors([args, kwargs]))):  # those have operators of their own
            with self:
                out = func.decompose(*args, **kwargs)
        if out is NotImplemented:
            out = func(*args, **kwargs)
            self._counter._measure(func, args, kwargs, out)
        return out


def _is_made_of_tensors(kind: type[torch.Tensor]) -> bool:
    plain = kind.__torch_dispatch__ is torch.Tensor.__torch_dispatch__
    return not plain and not issubclass(kind, FakeTensor)


def _sum(works: Iterable[Work]) -> Work:
    return sum(works, Work())


def _add(row: dict[str, Work], phase: str, work: Work) -> None:
    row[phase] = row.get(phase, Work()) + work


def _rank(row: dict[str, Work]) -> tuple[int, int, int]:
    total = _sum(row.values())
    return total.flops, total.pointwise, total.bytes
