"""Which module an operator works for, in the forward pass and in the backward pass.

Forward, it is the module whose call is running: global hooks on every module's call keep a stack.
Backward there is no call. But autograd numbers its nodes in the order in which the forward pass
makes them, so the node that is running says when it was made, and a log of who was running when
says for whom. That needs no hook on any tensor and changes no graph; it is right for a module that
is called twice, for one whose input needs no gradient, and for a backward pass of a backward pass.
"""

from bisect import bisect_right
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import nn
from torch.utils.hooks import RemovableHandle

#: The modules whose calls are running, outermost first: what an operator is counted for.
Path = tuple[str, ...]

_COMPILED = (
    "This is the backward pass of a function that torch.compile compiled: its loss was computed "
    "before the counting began, and what runs now are generated kernels, which a counter of "
    "PyTorch's operators cannot see. Compute the loss inside `with flops.count():` as well: it "
    "then runs, and is counted, as the program you wrote."
)


@dataclass(frozen=True)
class _Call:
    module: nn.Module
    path: Path
    task: int  # the backward pass in which the call began, -1 for none


class ModuleTracker:
    """Follow module calls while the hooks are in place; tell for whom and in which phase.

    Parameters
    ----------
    model
        Its modules get their names from it. Any other module is named after its class.
    """

    def __init__(self, model: nn.Module | None = None) -> None:
        #: Names in the order in which they were met; a parent precedes its children.
        self.names: list[str] = []
        self._name_of: WeakKeyDictionary[nn.Module, str] = WeakKeyDictionary()
        self._last_path: WeakKeyDictionary[nn.Module, Path] = WeakKeyDictionary()
        self._path_of_parameter: dict[int, Path] = {}
        self._calls: list[_Call] = []
        self._ends: list[int] = []  # nodes numbered below _ends[i], and not below the one before,
        self._owners: list[Path] = []  # were made for _owners[i]
        if model is not None:
            self._meet(model, type(model).__name__, prefix="")

    def hooks(self) -> list[RemovableHandle]:
        """Install the hooks and return their handles, each a context manager that removes one."""
        self._calls.clear()
        self._claim(())
        return [
            nn.modules.module.register_module_forward_pre_hook(self._enter),
            nn.modules.module.register_module_forward_hook(self._leave, always_call=True),
        ]

    def locate(self) -> tuple[Path, str]:
        """Return for whom the operator that is being dispatched works, and the phase.

        The phase is ``"forward"``, ``"backward"`` or ``"recompute"``.
        """
        node = torch._C._current_autograd_node()
        if node is None:
            path, phase = self._running(), "forward"
        else:
            if node.name() == "CompiledFunctionBackward":
                raise RuntimeError(_COMPILED)
            path = self._running() or self._owner(node)
            phase = "recompute" if _is_recomputing(node) else "backward"
        self._claim(path)
        return path, phase

    def _running(self) -> Path:
        """Return the path of the innermost call, if it began in the pass that is running now."""
        if self._calls and self._calls[-1].task == torch._C._current_graph_task_id():
            return self._calls[-1].path
        return ()

    def _owner(self, node: torch.autograd.graph.Node) -> Path:
        """Return for whom the forward pass made `node`; a parameter's own node has no number."""
        if hasattr(node, "variable"):
            return self._path_of_parameter.get(id(node.variable), ())
        index = bisect_right(self._ends, node._sequence_nr())
        return self._owners[index] if index < len(self._owners) else ()

    def _claim(self, path: Path) -> None:
        """Note that all nodes made since the last claim were made for `path`."""
        end = torch.autograd._get_sequence_nr()
        if self._ends and end <= self._ends[-1]:
            return
        if self._owners and self._owners[-1] == path:
            self._ends[-1] = end
        else:
            self._ends.append(end)
            self._owners.append(path)

    def _enter(self, module: nn.Module, args: Any) -> None:
        self.locate()
        outer = self._running()
        if module not in self._name_of:
            name = type(module).__name__
            self._meet(module, self._unused(f"{outer[-1]}.{name}" if outer else name))
        path = (*outer, self._name_of[module])
        task = torch._C._current_graph_task_id()
        if not outer and task != -1:  # recomputed: below the modules that it was called by before
            path = self._last_path.get(module, path)
        self._last_path[module] = path
        for parameter in module._parameters.values():
            self._path_of_parameter.setdefault(id(parameter), path)
        self._calls.append(_Call(module, path, task))

    def _leave(self, module: nn.Module, args: Any, output: Any) -> None:
        self.locate()
        while self._calls and self._calls.pop().module is not module:
            pass

    def _meet(self, module: nn.Module, root: str, prefix: str | None = None) -> None:
        """Name `module` and all below it: those of a given model have no prefix."""
        prefix = f"{root}." if prefix is None else prefix
        for path, below in module.named_modules():
            if below not in self._name_of:
                self._name_of[below] = prefix + path if path else root
                self.names.append(self._name_of[below])

    def _unused(self, name: str) -> str:
        taken = sum(1 for other in self.names if other == name or other.startswith(f"{name} ("))
        return f"{name} ({taken + 1})" if taken else name


def _is_recomputing(node: torch.autograd.graph.Node) -> bool:
    """Tell whether `torch.utils.checkpoint` is running a part of the forward pass again.

    Its two implementations do that in a hook that unpacks what `node` saved, and in a node.
    """
    if node.name() == "CheckpointFunctionBackward":
        return True
    hooks = torch._C._autograd._top_saved_tensors_default_hooks(True)
    return bool(hooks) and getattr(hooks[0], "__module__", "") == "torch.utils.checkpoint"
