"""Waits for torch to be imported and attaches the hook then; costs a dictionary look-up per import before."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # importing typing takes longer than all else that happens before torch
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    Action = Callable[[ModuleType], None]


def watch_torch() -> None:
    """Attach the hook as soon as torch, and some parts of it, have been imported; they may have been already."""
    actions: dict[str, Action] = {
        "torch": lambda module: _hook().attach(module),
        "torch.distributed.checkpoint.state_dict_saver": lambda module: _hook().attach_save(module),
        "torch._dynamo.eval_frame": lambda module: _hook().hide_from_compiler(module),
        "torch._dynamo.output_graph": lambda module: _hook().heed_compiler(module),
    }
    for name, action in actions.items():
        if name in sys.modules:
            _act(action, sys.modules[name])
    sys.meta_path.insert(0, AfterImport(actions))


def _hook() -> ModuleType:
    from . import attach

    return attach


def _act(action: Action, module: ModuleType) -> None:
    try:
        action(module)
    except Exception as error:  # noqa: BLE001 - a training never fails because of its profiler
        sys.stderr.write(f"gapfinder: training is not marked: {type(error).__name__}: {error}\n")


class AfterImport:
    """Finds nothing by itself: lets the other finders find a module and runs an action once it is loaded."""

    def __init__(self, actions: dict[str, Action]) -> None:
        self._actions = actions

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return what the other finders find, with the module's action behind its loader."""
        action = self._actions.get(name)
        if action is None:
            return None
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = None if find is None else find(name, path, target)
            if spec is not None:
                _run_after(spec, action)
                return spec
        return None


def _run_after(spec: ModuleSpec, action: Action) -> None:
    loader = spec.loader
    if loader is None:
        return

    def execute(module: ModuleType) -> None:
        del loader.exec_module  # the instance's own: the class's is behind it again
        loader.exec_module(module)
        _act(action, module)

    # On the instance, so that the loader stays what it is to whoever asks it for source or resources.
    loader.exec_module = execute  # type: ignore[method-assign]
