"""Python runs this at its start when the folder is in PYTHONPATH: it loads gapfinder's hook, then the one it hides."""

import os
import sys


def _load_hook() -> None:
    if not os.environ.get("GAPFINDER_HOOK_STATUS") or os.environ.get("GAPFINDER_HOOK") == "off":
        return
    try:
        from _gapfinder_hook.watch import watch_torch  # type: ignore[import-not-found]

        watch_torch()
    except Exception as error:  # noqa: BLE001 - a training never fails because of its profiler
        sys.stderr.write(f"gapfinder: training is not marked: {type(error).__name__}: {error}\n")


def _run_hidden() -> None:
    """Run the sitecustomize that would have been found without this one; its errors stay its own."""
    here = os.path.dirname(os.path.abspath(__file__))
    others = [path for path in sys.path if os.path.abspath(path or os.curdir) != here]
    # importlib.machinery has it as well, and takes a millisecond to import
    finder = next(one for one in sys.meta_path if getattr(one, "__name__", "") == "PathFinder")
    spec = finder.find_spec("sitecustomize", others)
    if spec is None or spec.loader is None:
        return
    from importlib.util import module_from_spec

    hidden = module_from_spec(spec)
    sys.modules["sitecustomize"] = hidden
    spec.loader.exec_module(hidden)


_load_hook()
_run_hidden()
