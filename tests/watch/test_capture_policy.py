"""What a watch may spend on captures."""

from __future__ import annotations

import pytest

from gapfinder.watch.model import Trigger, TriggerKind
from gapfinder.watch.policy import CapturePolicy


def of(kind):
    return Trigger(kind=kind, step=1, sentence="s")


DRIFT, ASKED = of(TriggerKind.DRIFT), of(TriggerKind.ASKED)


def test_the_first_capture_is_free():
    assert CapturePolicy().refusal(DRIFT, now_ns=0, bytes_used=0) is None


def test_a_cool_down_lies_between_two():
    policy = CapturePolicy(cool_down_ns=60_000_000_000)
    policy.taken(DRIFT, now_ns=1_000_000_000_000)
    assert policy.refusal(DRIFT, now_ns=1_060_000_000_000, bytes_used=0) is None
    refusal = policy.refusal(DRIFT, now_ns=1_020_000_000_000, bytes_used=0)
    assert refusal == "no capture: the last one ended 20.00 s ago, and 60.00 s lie between two"


def test_there_are_no_more_than_the_most():
    policy = CapturePolicy(most_captures=2, cool_down_ns=0)
    policy.taken(DRIFT, now_ns=0)
    policy.taken(ASKED, now_ns=1_000_000_000)
    assert policy.refusal(DRIFT, now_ns=2_000_000_000, bytes_used=0) is None
    policy.taken(DRIFT, now_ns=3_000_000_000)
    assert (
        policy.refusal(DRIFT, now_ns=4_000_000_000, bytes_used=0)
        == "no capture: this watch has taken 2 captures, its most"
    )


def test_what_was_asked_for_is_bound_by_the_disk_alone():
    policy = CapturePolicy(most_captures=1, most_bytes=5_000_000, cool_down_ns=60_000_000_000)
    policy.taken(DRIFT, now_ns=0)
    assert policy.refusal(ASKED, now_ns=1_000_000_000, bytes_used=4_999_999) is None
    for trigger in (ASKED, DRIFT):
        refusal = policy.refusal(trigger, now_ns=1_000_000_000, bytes_used=5_000_000)
        assert refusal == "no capture: those of this watch fill 5.000 MB, and may fill 5.000 MB"


@pytest.mark.parametrize("kind", [kind for kind in TriggerKind if kind is not TriggerKind.ASKED])
def test_all_others_are_counted(kind):
    policy = CapturePolicy(most_captures=1, cool_down_ns=0)
    policy.taken(of(kind), now_ns=0)
    assert policy.refusal(of(kind), now_ns=1_000_000_000, bytes_used=0) is not None
