"""The check: quiet on noise, loud on a regression, and without an answer where there is none (P98 to P104)."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from analysis_values import MS
from snapshots import USUAL, finding_total, in_ms, lane_of, simulated, snapshot_of, steps_of_ms, without_steps

from gapfinder.compare.check import check
from gapfinder.compare.comparable import Aspect
from gapfinder.compare.thresholds import parse_limits
from gapfinder.compare.verdict import Outcome, Result
from gapfinder.errors import InputError
from gapfinder.explanations import Cause
from gapfinder.model import NO_COMMUNICATION

GRAPHS = "CUDA graphs were traced whole"


def verdict(candidate, baseline=None, *limits, allowed=()):
    return check(candidate, baseline, limits=parse_limits(limits), allowed=allowed)


def steady(*, digest: str = "new", lanes: int = 2, steps: int = 8, **parts: float):
    """A training whose steps are all alike."""
    step = {**USUAL, **parts}
    return snapshot_of(*(lane_of(steps_of_ms(*[step] * steps), rank=rank) for rank in range(lanes)), digest=digest)


OLD = steady(digest="old")


# Noise and shifts


def test_p102_noise_of_5_percent_on_the_same_code_fails_at_most_1_of_100_times():
    outcomes = Counter(check(simulated(seed=2 * run), simulated(seed=2 * run + 1)).outcome for run in range(100))
    assert outcomes[Outcome.FAIL] <= 1
    assert outcomes[Outcome.PASS] >= 99


def test_the_same_training_with_another_seed_passes_50_of_50_times():
    pairs = [(simulated(seed=1_000 + run), simulated(seed=2_000 + run)) for run in range(50)]
    assert [check(*pair).outcome for pair in pairs] == [Outcome.PASS] * 50


def test_p102_a_shift_of_20_percent_is_caught_50_of_50_times_with_20_steps():
    pairs = [
        (simulated(seed=3_000 + run, exposed=1.2 * USUAL["exposed"]), simulated(seed=4_000 + run)) for run in range(50)
    ]
    verdicts = [check(*pair) for pair in pairs]
    assert [one.outcome for one in verdicts] == [Outcome.FAIL] * 50
    assert all("exposed_ms_per_step:+10%" in [breach.limit for breach in one.breaches] for one in verdicts)


def test_p100_what_is_too_noisy_is_no_pass_and_no_failure():
    wild = {"noise": 0.8, "steps": 6, "correlation": 1.0}
    found = verdict(simulated(seed=1, **wild), simulated(seed=2, **wild), "step_p50:+5%")
    assert found.outcome is Outcome.INCONCLUSIVE
    assert "too noisy" in found.unknown[0]


def test_one_slow_step_moves_no_median():
    slow = [USUAL] * 7 + [{**USUAL, "idle": 500}]
    candidate = snapshot_of(*(lane_of(steps_of_ms(*slow), rank=rank) for rank in (0, 1)), digest="new")
    assert verdict(candidate, OLD, "idle_ms_per_step:+10%", "step_p50:+5%").outcome is Outcome.PASS
    assert verdict(candidate, OLD, "step_mean:+5%").outcome is not Outcome.PASS


# Direction, floors and zero


def test_p103_more_overlap_is_better_and_more_idle_time_is_worse():
    better = verdict(steady(hidden=30, exposed=5, idle=2), OLD, "overlap_ratio:-5pp", "idle_ms_per_step:+10%")
    assert (better.outcome, [one.result for one in better.judgements]) == (Outcome.PASS, [Result.IMPROVED] * 2)
    worse = verdict(steady(hidden=5, exposed=30, idle=15), OLD, "overlap_ratio:-5pp", "idle_ms_per_step:+10%")
    assert (worse.outcome, [one.result for one in worse.judgements]) == (Outcome.FAIL, [Result.BREACHED] * 2)
    assert better.exit_code == 0
    assert worse.exit_code == 1


def test_p101_the_change_is_new_less_old_over_old():
    limit = "exposed_ms_per_step:+50%,0ms"
    assert verdict(steady(exposed=15), OLD, limit).outcome is Outcome.PASS
    found = verdict(steady(exposed=15.1), OLD, limit)
    assert found.outcome is Outcome.FAIL
    (breach,) = found.breaches
    assert (breach.old, breach.new, breach.allowed) == (10 * MS, 15.1 * MS, 5 * MS)
    assert "rose from 10.00 ms to 15.10 ms, by 51.0 % (5.100 ms)" in breach.sentence
    assert "n = 8 and 8 steps" in breach.sentence


def test_p101_half_as_much_again_of_nearly_nothing_is_nothing():
    old, new = steady(idle=0.2, digest="old"), steady(idle=0.3)
    assert verdict(new, old, "idle_share:+10%", "idle_ms_per_step:+10%").outcome is Outcome.PASS
    assert verdict(new, old, "idle_ms_per_step:+10%,0ms").outcome is Outcome.FAIL


def test_p101_a_baseline_of_zero_is_held_against_the_floor():
    old = steady(idle=0, digest="old")
    assert verdict(steady(idle=0.9), old, "idle_ms_per_step:+10%").outcome is Outcome.PASS
    assert verdict(steady(idle=1.1), old, "idle_ms_per_step:+10%").outcome is Outcome.FAIL
    assert verdict(steady(idle=0.001), old, "idle_ms_per_step:+10%,0ms").outcome is Outcome.FAIL
    assert verdict(steady(idle=0), replace(old, digest="x"), "idle_ms_per_step:+10%,0ms").outcome is Outcome.PASS


def test_a_change_that_is_exactly_what_is_allowed_is_kept():
    found = verdict(steady(exposed=12), OLD, "exposed_ms_per_step:+2ms")
    assert [one.result for one in found.judgements] == [Result.KEPT]


# Scopes


def one_bad_lane():
    good, bad = steps_of_ms(*[USUAL] * 8), steps_of_ms(*[{**USUAL, "hidden": 15, "exposed": 20}] * 8)
    lanes = [lane_of(bad if rank == 2 else good, rank=rank) for rank in range(16)]
    return snapshot_of(*lanes, digest="new")


def test_one_bad_lane_of_many_is_seen_by_worst_and_every_and_named():
    old = steady(lanes=16, digest="old")
    assert verdict(one_bad_lane(), old, "overlap_ratio:-5pp").outcome is Outcome.PASS
    for scope in ("worst", "every"):
        found = verdict(one_bad_lane(), old, f"overlap_ratio@{scope}:-5pp")
        assert [one.lane for one in found.breaches] == ["rank 2"]
        assert "rank 2" in found.breaches[0].sentence
    assert len(verdict(one_bad_lane(), old, "overlap_ratio@every:-5pp").judgements) == 16
    assert check(one_bad_lane(), old).outcome is Outcome.FAIL


def test_every_lane_is_compared_with_its_own_rank():
    slow = {**USUAL, "exposed": 20}

    def two(slow_rank: int, order: tuple[int, int], digest: str):
        return snapshot_of(
            *(lane_of(steps_of_ms(*[slow if rank == slow_rank else USUAL] * 8), rank=rank) for rank in order),
            digest=digest,
        )

    limit = "exposed_ms_per_step@every:+10%"
    assert verdict(two(1, (1, 0), "new"), two(1, (0, 1), "old"), limit).outcome is Outcome.PASS
    assert [one.lane for one in verdict(two(0, (0, 1), "new"), two(1, (0, 1), "old"), limit).breaches] == ["rank 0"]


# Absolute limits


def test_absolute_limits_need_no_baseline():
    assert verdict(OLD, None, "overlap_ratio<0.7", "step_p99>200ms").outcome is Outcome.PASS
    found = verdict(OLD, None, "overlap_ratio<0.8")
    assert (found.outcome, found.breaches[0].new) == (Outcome.FAIL, pytest.approx(25 / 35))
    assert "is 71.4 % (n = 8 steps), which breaches the limit < 80.0 %" in found.breaches[0].sentence


def test_without_steps_a_ratio_is_of_the_whole_capture_and_a_time_per_step_is_unknown():
    found = verdict(without_steps(OLD), None, "overlap_ratio<0.7")
    assert (found.outcome, found.judgements[0].new_steps) == (Outcome.PASS, 0)
    assert "over the whole capture" in found.judgements[0].sentence
    unknown = verdict(without_steps(OLD), None, "idle_ms_per_step>10ms")
    assert (unknown.outcome, "step pattern" in unknown.unknown[0]) == (Outcome.INCONCLUSIVE, True)


def test_a_relative_limit_without_a_baseline_is_wrong_usage():
    with pytest.raises(InputError, match="--baseline"):
        check(OLD)
    with pytest.raises(InputError, match="step_p50"):
        verdict(OLD, None, "overlap_ratio<0.7", "step_p50:+5%")


def test_a_breach_beats_what_cannot_be_answered():
    alone = replace(steady(lanes=1), world_size=2)
    found = verdict(alone, OLD, "overlap_ratio<0.8", "overlap_ratio:-5pp")
    assert (found.outcome, bool(found.reasons)) == (Outcome.FAIL, True)
    assert verdict(alone, OLD, "overlap_ratio<0.7", "overlap_ratio:-5pp").outcome is Outcome.INCONCLUSIVE


# What cannot be answered


def test_p98_an_empty_capture_is_no_pass():
    empty = snapshot_of(digest="empty")
    for found in (check(empty, OLD), verdict(empty, None, "overlap_ratio<0.7"), check(OLD, empty)):
        assert (found.outcome, found.exit_code) == (Outcome.INCONCLUSIVE, 3)
        assert not found.improvements


def without_communication(digest: str):
    return steady(hidden=0, exposed=0, digest=digest)


def hidden_by_graphs(snapshot):
    lanes = tuple(replace(lane, overlap_ratio=None, overlap_reason=GRAPHS) for lane in snapshot.lanes)
    return replace(snapshot, lanes=lanes)


def idle_unknown(snapshot):
    return replace(
        snapshot, lanes=tuple(replace(lane, idle_reason="launches were not traced") for lane in snapshot.lanes)
    )


INCOMPARABLE = {
    "P99 the same capture twice": (replace(steady(), digest="old"), "same capture"),
    "P99 half of the lanes is gone": (steady(lanes=1), "2 lanes and this capture 1"),
    "P104 another number of ranks was declared": (replace(steady(), world_size=8), "2 ranks and this one 8"),
    "another GPU": (
        replace(steady(), lanes=tuple(replace(lane, gpu_name="NVIDIA A100") for lane in steady().lanes)),
        "NVIDIA A100",
    ),
    "P99 a rank is missing": (
        replace(steady(), lanes=(steady().lanes[0], replace(steady().lanes[1], rank=5))),
        "rank 1, which this capture lacks: it has rank 5",
    ),
    "P99 ranks are lost": (
        replace(steady(), lanes=tuple(replace(lane, rank=None) for lane in steady().lanes)),
        "does not tell which rank",
    ),
    "other steps": (replace(steady(), step_range=(3, 8)), "all steps and this capture over the steps 3:8"),
    "another window": (replace(steady(), window=(0, 10**9)), "from 0.000000 s to 1.000000 s"),
    "another smallest gap": (replace(steady(), min_gap_ns=1_000), "100.0 µs and this capture from 1.000 µs"),
    "no steps": (without_steps(steady()), "has no steps: no NVTX range"),
    "too few steps": (steady(steps=4), "only 4 steps complete"),
    "no communication any more": (without_communication("new"), NO_COMMUNICATION),
    "graphs hide it": (hidden_by_graphs(steady()), GRAPHS),
    "idle time unknown": (idle_unknown(steady()), "launches were not traced"),
}


@pytest.mark.parametrize(("candidate", "told"), INCOMPARABLE.values(), ids=INCOMPARABLE)
def test_what_cannot_be_compared_is_inconclusive_with_a_reason(candidate, told):
    found = check(candidate, OLD)
    assert (found.outcome, found.exit_code, found.improvements) == (Outcome.INCONCLUSIVE, 3, ())
    assert any(told in sentence for sentence in found.unknown), found.unknown


def test_no_communication_on_both_sides_is_inconclusive_by_default_and_idle_can_still_be_limited():
    old, new = without_communication("old"), without_communication("new")
    assert check(new, old).outcome is Outcome.INCONCLUSIVE
    assert verdict(new, old, "idle_ms_per_step:+10%").outcome is Outcome.PASS


def test_one_lane_of_a_larger_job_without_a_rank_is_not_compared():
    def alone(digest: str, rank: int | None):
        lane = lane_of(steps_of_ms(*[USUAL] * 8), rank=rank)
        return replace(snapshot_of(lane, digest=digest), world_size=None)

    found = check(alone("new", None), alone("old", None))
    assert (found.outcome, "one lane of a larger job" in found.reasons[0]) == (Outcome.INCONCLUSIVE, True)
    assert check(alone("new", 3), alone("old", 3)).outcome is Outcome.PASS
    assert check(alone("new", None), alone("old", None), allowed=[Aspect.RANKS]).outcome is Outcome.PASS


def test_what_may_differ_is_compared_and_noted():
    for name in ("another GPU", "other steps", "another smallest gap", "P99 half of the lanes is gone"):
        candidate, told = INCOMPARABLE[name]
        reasons = check(candidate, OLD).reasons
        allowed = [kind for kind in Aspect if any(f"--allow-different {kind} " in reason for reason in reasons)]
        found = check(candidate, OLD, allowed=allowed)
        assert (found.outcome, found.reasons) == (Outcome.PASS, ())
        assert any(told in note for note in found.notes)


def test_the_same_capture_can_never_be_allowed():
    same = INCOMPARABLE["P99 the same capture twice"][0]
    assert check(same, OLD, allowed=list(Aspect)).outcome is Outcome.INCONCLUSIVE


def test_other_versions_are_noted_and_compared():
    found = check(replace(steady(), nsys_version="2026.1.1"), OLD)
    assert (found.outcome, found.notes) == (Outcome.PASS, ("nsys was 2025.5.2 for the baseline and is 2026.1.1 now",))
    of_commit = check(steady(), replace(OLD, commit="0123abc"))
    assert of_commit.notes == ("the baseline is of commit 0123abc, measured on 2026-03-02T10:00:00+00:00",)


def only_in_the_first_step(digest: str):
    """No communication in any complete step, though the window, which holds the first step too, has 35 ms of it."""
    silent = without_communication(digest)
    spent = in_ms(compute=600, hidden=25, exposed=10)
    return replace(
        silent,
        lanes=tuple(
            replace(lane, budget=spent, overlap_ratio=spent.overlap_ratio, overlap_reason=None) for lane in silent.lanes
        ),
    )


@pytest.mark.parametrize("limit", ["overlap_ratio<0.7", "exposed_ms_per_step>1ms", "exposed_share@every>10%"])
def test_communication_that_lies_in_the_first_step_alone_is_no_pass_and_not_told_to_be_missing(limit):
    found = verdict(only_in_the_first_step("new"), None, limit)
    assert (found.outcome, found.exit_code) == (Outcome.INCONCLUSIVE, 3)
    assert "lies outside of them, as in the first step" in found.unknown[0]
    assert NO_COMMUNICATION not in found.unknown[0]
    assert verdict(without_steps(only_in_the_first_step("new")), None, "overlap_ratio<0.7").outcome is Outcome.PASS


def test_which_side_has_its_communication_in_the_first_step_alone_is_told():
    (old,) = verdict(steady(), only_in_the_first_step("old"), "overlap_ratio:-5pp").unknown
    assert "in the baseline, there is no communication in the complete steps" in old
    (new,) = verdict(only_in_the_first_step("new"), OLD, "overlap_ratio:-5pp").unknown
    assert "now, there is no communication in the complete steps" in new


def test_a_lane_that_stopped_communicating_is_told_by_its_steps():
    lanes = steady().lanes
    quiet = replace(lanes[1], steps=without_communication("x").lanes[1].steps)
    found = verdict(replace(steady(), lanes=(lanes[0], quiet)), OLD, "overlap_ratio@every:-5pp")
    assert any(one.endswith("now, no communication is in the steps that are compared") for one in found.unknown)


# The cause


def test_a_breach_names_the_finding_that_grew_and_can_explain_it():
    findings = (
        finding_total("data-starved", lost_ms=900, share=0.5),
        finding_total("exposed-collective", lost_ms=500, share=0.2),
        finding_total("overlap-broken", lost_ms=200, share=0.1),
    )
    old = replace(OLD, findings=(finding_total("exposed-collective", lost_ms=499, share=0.19),))
    found = verdict(replace(steady(hidden=5, exposed=30), findings=findings), old, "overlap_ratio:-5pp")
    (breach,) = found.breaches
    assert breach.finding == "overlap-broken"
    assert breach.sentence.endswith("overlap-broken (About overlap-broken; 10.0 % of all time, new since the baseline)")


def blank_time(snapshot, **causes: float):
    """The same training, with blank time by cause in ms on every lane."""
    told = {Cause(name): round(ms * MS) for name, ms in causes.items()}
    return replace(snapshot, lanes=tuple(replace(lane, causes=told) for lane in snapshot.lanes))


def test_where_no_finding_explains_a_breach_the_cause_that_grew_most_is_named():
    old = blank_time(OLD, host_code=20, launch_bound=4, exposed_communication_wait=9)
    new = blank_time(steady(idle=15), host_code=24, launch_bound=76, exposed_communication_wait=99)
    (breach,) = verdict(new, old, "idle_ms_per_step:+10%").breaches
    assert (breach.finding, breach.cause) == (None, "launch_bound")
    # 8 steps a lane: 76 / 8 - 4 / 8 ms
    assert breach.sentence.endswith(
        ": no finding explains it; of the blanks, launch bound grew most (by 9.000 ms a step)"
    )
    (absolute,) = verdict(new, None, "idle_ms_per_step>10ms").breaches
    assert (absolute.cause, absolute.sentence.split("it; ")[1]) == (
        "launch_bound",
        "most of the blanks is launch bound (152.0 ms in all)",
    )
    shrunk = blank_time(steady(idle=15), host_code=2, launch_bound=2)
    assert verdict(shrunk, old, "idle_ms_per_step:+10%").breaches[0].cause is None


def test_p99_and_p104_captures_that_are_not_alike_are_refused():
    for name, (candidate, _) in INCOMPARABLE.items():
        if name.startswith(("P99", "P104")):
            assert check(candidate, OLD).reasons, name


def test_no_finding_is_named_where_none_explains_it():
    findings = (finding_total("data-starved", lost_ms=900), finding_total("slow-link", lost_ms=9, share=0.1))
    old = replace(OLD, findings=(finding_total("slow-link", lost_ms=9, share=0.1),))
    found = verdict(replace(steady(hidden=5, exposed=30), findings=findings), old, "overlap_ratio:-5pp")
    assert [one.finding for one in found.breaches] == [None]


def test_a_finding_of_several_lanes_counts_as_one():
    of_lanes = tuple(finding_total("straggler", lost_ms=10, share=0.06, lane=lane) for lane in (0, 1))
    found = verdict(
        replace(steady(exposed=30), findings=(*of_lanes, finding_total("slow-link", lost_ms=11, share=0.1))),
        OLD,
        "exposed_ms_per_step:+10%",
    )
    assert found.breaches[0].finding == "straggler"


def test_an_absolute_breach_names_what_costs_most():
    findings = (finding_total("late-buckets", lost_ms=5, share=0.01), finding_total("slow-link", lost_ms=9, share=0.2))
    found = verdict(replace(OLD, findings=findings), None, "overlap_ratio<0.8")
    assert (found.breaches[0].finding, "new since" in found.breaches[0].sentence) == ("slow-link", False)


def test_time_outside_the_steps_changes_nothing():
    lanes = tuple(replace(lane, budget=in_ms(hidden=1, exposed=5_000, idle=9_000)) for lane in steady().lanes)
    assert check(replace(steady(), lanes=lanes), OLD).outcome is Outcome.PASS
