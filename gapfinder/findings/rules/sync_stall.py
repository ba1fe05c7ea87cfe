"""sync-stall: a synchronising call keeps the host from launching ahead, and the GPU runs dry."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from gapfinder.explanations import Cause
from gapfinder.findings.lost import amount, finding, lost_by_lane, mostly_of, seen_in
from gapfinder.findings.page import Page
from gapfinder.findings.words import call_name, listed
from gapfinder.units import format_count

if TYPE_CHECKING:
    from gapfinder.explanations import Finding
    from gapfinder.model import Analysis

PAGE = Page(
    code="sync-stall",
    title="Synchronising calls let the GPU run dry",
    meaning=(
        "The host waits for the GPU (loss.item(), .cpu(), print of a tensor, boolean indexing, "
        "torch.cuda.synchronize()) and can launch again only when everything before is done. Until its next launch "
        "arrives the GPU is idle."
    ),
    measured=("Hole time in which the launching thread was in, or had just returned from, a synchronising CUDA call."),
    change=(
        "Call .item() and print losses only every N steps, and keep sums on the GPU in between.",
        (
            'Find the calls with torch.cuda.set_sync_debug_mode("warn"); replace boolean indexing by torch.where, '
            "and copy with non_blocking=True into pinned memory."
        ),
        (
            "Clip gradients with a norm that stays on the GPU: leave error_if_nonfinite=False in clip_grad_norm_, and "
            "let GradScaler skip steps by itself."
        ),
        "Remove torch.cuda.synchronize() and torch.cuda.empty_cache() from the loop.",
    ),
    beware=("that the call itself is slow: long waits in it are normal when the GPU is busy; only holes count here."),
)
_NAMED = 3


def rule(analysis: Analysis) -> Finding | None:
    """Return the finding, where synchronising calls leave holes."""
    lost = lost_by_lane(analysis, Cause.SYNCHRONISATION)
    if not lost:
        return None
    total = sum(lost.values())
    calls = listed(_calls(analysis))
    return finding(
        analysis,
        PAGE,
        lost_ns=total,
        detail=f"{amount(analysis, total)}{seen_in(analysis, Cause.SYNCHRONISATION)}{': ' if calls else ''}{calls}.",
        lane=mostly_of(analysis, lost),
    )


def _calls(analysis: Analysis) -> list[str]:
    """Return the synchronising calls that spent most time in holes, without the version in their names."""
    counts: Counter[str] = Counter()
    times: Counter[str] = Counter()
    for lane in analysis.measured_lanes().values():
        for name, (count, ns) in lane.host.sync_calls.items():
            plain = call_name(name)
            counts[plain] += count
            times[plain] += ns
    most = sorted((name for name in times if times[name]), key=lambda name: (-times[name], name))[:_NAMED]
    return [f"{format_count(counts[name], 'time')} {name}" for name in most]
