"""Do something right after a module has been imported, without importing it."""

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType


def when_imported(name: str, action: Callable[[ModuleType], None]) -> None:
    """Call ``action(module)`` once: now if module `name` is there, else after its first import."""
    if name in sys.modules:
        action(sys.modules[name])
    elif not any(isinstance(finder, _Finder) and finder.name == name for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder(name, action))


class _Finder(importlib.abc.MetaPathFinder):
    """Lets the other finders find the module and runs the action behind its code."""

    def __init__(self, name: str, action: Callable[[ModuleType], None]) -> None:
        self.name = name
        self.action = action
        self.asking = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of the awaited module, with the action at its end."""
        if fullname != self.name or self.asking:
            return None
        self.asking = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self.asking = False
        if spec and spec.loader:
            run = spec.loader.exec_module

            def run_and_act(module: ModuleType) -> None:
                run(module)
                sys.meta_path.remove(self)
                self.action(module)

            spec.loader.exec_module = run_and_act  # this loader serves this module alone
        return spec
