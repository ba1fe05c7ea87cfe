"""Command line: rebuild the bundled sample profiles, check them, or write one of another size."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from sample_profiles.states import STATES, simulate
from sample_profiles.tiling import write_tiled
from sample_profiles.truth import Truth, tell
from sample_profiles.writer import write_export

SEED = 20_260_302
STEPS = 6
RANKS = 8
BUNDLE = Path(__file__).parent


def build_profile(  # noqa: PLR0913 - the size of a training, each part optional
    state: str, path: Path, *, seed: int = SEED, steps: int = STEPS, ranks: int = RANKS, layers: int | None = None
) -> Truth:
    """Simulate `state`, write its export to `path` and its truth beside it (`.truth.json`); return the truth.

    Raises:
        ValueError: no such state, or a number of ranks or layers it cannot have.
    """
    if state not in STATES:
        raise ValueError(f"no state {state!r}; there are {', '.join(STATES)}")
    processes = simulate(state, seed=seed, steps=steps, ranks=ranks, layers=layers)
    path.unlink(missing_ok=True)
    write_export(processes, path)
    truth = tell(processes, state=state, seed=seed)
    truth.write(truth_path(path))
    return truth


def truth_path(path: Path) -> Path:
    """Return where the truth of the profile at `path` lies."""
    return path.with_suffix(".truth.json")


def build_all(folder: Path) -> list[Path]:
    """Build every state into `folder`; return the files written."""
    written = []
    for state in STATES:
        path = folder / f"{state}.sqlite"
        build_profile(state, path)
        written += [path, truth_path(path)]
    return written


def drifted(folder: Path) -> list[str]:
    """Return one sentence for every bundled file in `folder` that differs from what would be built."""
    found = []
    with tempfile.TemporaryDirectory() as scratch:
        for fresh in build_all(Path(scratch)):
            bundled = folder / fresh.name
            if not bundled.exists():
                found.append(f"{bundled.name} is missing")
            elif bundled.read_bytes() != fresh.read_bytes():
                found.append(f"{bundled.name} differs from what this program builds")
    return found


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m sample_profiles.build", description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit 1 when the bundled files are not what this builds")
    parser.add_argument("--state", choices=STATES, default="healthy", help="what to simulate (default: %(default)s)")
    parser.add_argument("--output", type=Path, help="write one profile here instead of the bundled ones")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--ranks", type=int, default=RANKS)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--layers", type=int, help="make a data-parallel model this deep (bundled: 5)")
    parser.add_argument("--kernels", type=int, help="repeat the simulated stretch until there are this many kernels")
    options = parser.parse_args(arguments)
    if options.check:
        problems = drifted(BUNDLE)
        for problem in problems:
            sys.stderr.write(f"{problem}; run python -m sample_profiles.build\n")
        return 1 if problems else 0
    if options.output is None:
        build_all(BUNDLE)
        return 0
    build_profile(
        options.state,
        options.output,
        seed=options.seed,
        steps=options.steps,
        ranks=options.ranks,
        layers=options.layers,
    )
    if options.kernels is not None:
        truth_path(options.output).unlink()
        write_tiled([options.output], kernels=options.kernels)
    return 0


if __name__ == "__main__":
    sys.exit(main())
