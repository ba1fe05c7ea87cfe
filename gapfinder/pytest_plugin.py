"""pytest plug-in: a profile as a fixture with assertions of the words of `gapfinder check`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gapfinder.compare.snapshot import Snapshot
    from gapfinder.compare.verdict import Verdict

_MARKER = "gapfinder_profile"
_TAKEN = pytest.StashKey[dict[tuple[str, ...], "Snapshot"]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("gapfinder", "overlap of communication and compute")
    group.addoption(
        "--gapfinder-profile",
        metavar="PATH",
        action="append",
        default=[],
        help="Profile or folder of profiles that the fixture gapfinder_profile measures; may be repeated.",
    )
    group.addoption(
        "--gapfinder-baseline", metavar="NAME|FILE|PROFILE", help="What assert_no_regression compares with."
    )
    group.addoption("--gapfinder-store", metavar="FOLDER", help="Folder of baselines.")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line("markers", f"{_MARKER}(*paths): the profiles that the fixture of this name measures")


class MeasuredProfile:
    """A measured training; its assertions fail also where the question cannot be answered."""

    def __init__(self, snapshot: Snapshot, *, baseline: str | None, store: str | None) -> None:
        self.snapshot = snapshot
        self._baseline = baseline
        self._store = store

    def check(
        self,
        *,
        baseline: Path | str | None = None,
        against_history: str | None = None,
        fail_on: Sequence[str] = (),
        allow_different: Sequence[str] = (),
    ) -> Verdict:
        """Return the verdict of `gapfinder check`; without a baseline the one of --gapfinder-baseline counts."""
        from gapfinder.compare.checked import check_snapshot
        from gapfinder.compare.reference import Reference
        from gapfinder.compare.thresholds import needs_baseline, parse_limits

        if baseline is None and against_history is None and needs_baseline(parse_limits(fail_on)):
            baseline = self._baseline
        reference = Reference(baseline=baseline, against_history=against_history, store=self._store)
        return check_snapshot(self.snapshot, reference=reference, fail_on=fail_on, allow_different=allow_different)

    def assert_overlap(self, min: float, *, scope: str = "total") -> None:  # noqa: A002 (what a test reads best)
        """Fail unless at least `min` (0.7 is 70 %) of the communication is hidden; scope is total, worst or every."""
        __tracebackhide__ = True
        _hold(self.check(fail_on=[f"overlap_ratio@{scope}<{min:.6f}"]))

    def assert_no_regression(
        self,
        *,
        baseline: Path | str | None = None,
        against_history: str | None = None,
        fail_on: Sequence[str] = (),
        allow_different: Sequence[str] = (),
    ) -> None:
        """Fail where the training got worse than its limits allow, or where that cannot be told."""
        __tracebackhide__ = True
        verdict = self.check(
            baseline=baseline, against_history=against_history, fail_on=fail_on, allow_different=allow_different
        )
        _hold(verdict)


def _hold(verdict: Verdict) -> None:
    """Fail the test where the verdict is no pass."""
    __tracebackhide__ = True
    if verdict.exit_code:
        from gapfinder.render.check import render_check_text

        pytest.fail(render_check_text(verdict), pytrace=False)


@pytest.fixture
def gapfinder_profile(request: pytest.FixtureRequest) -> MeasuredProfile:
    """Return the profile of --gapfinder-profile, or of the test's own marker gapfinder_profile; measured once."""
    marker = request.node.get_closest_marker(_MARKER)
    config = request.config
    paths = tuple(map(str, marker.args if marker else config.getoption("--gapfinder-profile")))
    if not paths:
        pytest.fail("no profile to measure: give --gapfinder-profile PATH, or mark the test", pytrace=False)
    taken = config.stash.setdefault(_TAKEN, {})
    if paths not in taken:
        taken[paths] = _measured(paths)
    return MeasuredProfile(
        taken[paths],
        baseline=config.getoption("--gapfinder-baseline"),
        store=config.getoption("--gapfinder-store"),
    )


def _measured(paths: tuple[str, ...]) -> Snapshot:
    from pathlib import Path

    from gapfinder.compare.measured import measure
    from gapfinder.settings import Settings

    return measure([Path(path) for path in paths], settings=Settings())
