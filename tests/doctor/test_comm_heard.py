"""What is heard of ranks through launchers, and why there is no result."""

from __future__ import annotations

import base64
import json
import zlib

import pytest

from gapfinder.doctor import Status
from gapfinder.doctor.comm import checks_of
from gapfinder.doctor.comm.heard import Heard
from gapfinder.doctor.comm.lost import why_lost
from gapfinder.doctor.comm.session import _outcome


def word(rank: int, what: str, **told) -> str:
    return "@gapfinder-comm " + json.dumps({"rank": rank, "word": what, **told}) + "\n"


def heard(*words: tuple, ranks: int = 3, world: int = 3, is_spread: bool = False) -> Heard:
    """Ranks that all came at second 0, and the words (second, rank, what, told) after."""
    result = Heard(now=0.0)
    for rank in range(ranks):
        hello = {"world_size": world, "host": f"node{rank}", "pid": 100 + rank, "is_spread": is_spread}
        result.take(word(rank, "hello", **hello), now=0.0)
    for second, rank, what, told in words:
        assert result.take(word(rank, what, **told), now=float(second))
    return result


def beats(*ranks: int, until: int, start: int = 1) -> list[tuple]:
    return [(second, rank, "beat", {}) for second in range(start, until) for rank in ranks]


def stages(name: str, *ranks: int, at: int = 1) -> list[tuple]:
    return [(at, rank, "stage", {"stage": name}) for rank in ranks]


def test_launchers_may_write_around_a_line():
    result = Heard(now=0.0)
    hello = word(1, "hello", world_size=2, host="b", pid=7, is_spread=False)
    assert result.take(f"[1,1]<stdout>:{hello.strip()}\x1b[0m\n", now=1.0)
    assert (result.world_size, result.ranks[1].host) == (2, "b")
    for other in ("NCCL INFO Bootstrap\n", "@gapfinder-comm {torn\n", "@gapfinder-comm\n", ""):
        assert not result.take(other, now=2.0)
    assert result.moved_at == 1.0


def test_the_result_comes_in_pieces_in_any_order():
    value = {"pairs": [[0, 1, 2]]}
    text = base64.b64encode(zlib.compress(json.dumps(value).encode())).decode()
    pieces = [text[at : at + 7] for at in range(0, len(text), 7)]
    result = heard()
    for number in reversed(range(len(pieces))):
        assert result.report() is None
        result.take(word(0, "part", number=number, of=len(pieces), text=pieces[number]), now=3.0)
    assert result.report() == value


def test_a_beat_is_life_and_no_progress():
    result = heard(*stages("meeting the other ranks", 0, at=2), *beats(0, 1, until=9))
    assert (result.moved_at, result.ranks[0].heard_at, result.stage) == (2.0, 8.0, "meeting the other ranks")


def test_a_rank_that_never_came():
    result = heard(*beats(0, 1, until=60), ranks=2)
    assert why_lost(result, now=60.0, waited_s=60.0, exit_code=None) == (
        "rank 2 never came: 2 of 3 ranks began (rank 0 (node0), rank 1 (node1)), and nothing moved for 60 s"
    )


def test_a_rank_that_another_torchrun_may_have():
    result = heard(*beats(0, 1, until=60), ranks=2, is_spread=True)
    told = why_lost(result, now=60.0, waited_s=60.0, exit_code=None)
    assert told.startswith("rank 2 never came, or torchrun on another node has them: 2 of 3 ranks began")


def test_the_node_without_rank_0_has_no_result_and_no_failure():
    result = heard(*((5, rank, "done", {}) for rank in (1, 2)), is_spread=True)
    del result.ranks[0]
    outcome = _outcome(result, now=6.0, waited=None, exit_code=0)
    assert (outcome.measured, outcome.lost) == (None, "")
    (seen,) = {(check.status, check.seen) for check in checks_of(outcome, link=None)}
    assert seen[0] is Status.NOT_CHECKED
    assert seen[1].endswith("the result is on that of rank 0")
    result.is_spread = False
    assert _outcome(result, now=6.0, waited=None, exit_code=0).lost.startswith("rank 0 never came")


def test_a_rank_that_stands_still():
    result = heard(*stages("all-reduce of 1000 bytes", 0, 1, 2), *beats(0, 2, until=30), *beats(1, until=4))
    assert why_lost(result, now=30.0, waited_s=28.0, exit_code=None) == (
        "without a last word, stopped answering: rank 1 (node1) at 'all-reduce of 1000 bytes'; nothing moved for 28 s"
    )


def test_a_rank_that_died_is_named_and_not_those_that_it_took_along():
    late = [(9, 0, "failed", {"error": "RuntimeError: Connection closed by peer"}), (9, 2, "ended", {})]
    result = heard(*stages("pair of ranks 0 and 1", 0, 1), *beats(0, 1, 2, until=9), *late)
    assert why_lost(result, now=9.0, waited_s=None, exit_code=1) == (
        "without a last word, died: rank 1 (node1) at 'pair of ranks 0 and 1'; the launcher ended with exit code 1"
    )


def test_the_first_of_several_failures_counts():
    errors = [
        (4, 2, "failed", {"error": "OutOfMemoryError: no memory"}),
        (5, 0, "failed", {"error": "RuntimeError: Connection closed by peer"}),
        (5, 1, "ended", {}),
    ]
    result = heard(*stages("all-reduce of 1000 bytes", 0, 1, 2), *errors)
    assert why_lost(result, now=6.0, waited_s=None, exit_code=1) == (
        "rank 2 (node2) failed first, at 'all-reduce of 1000 bytes': OutOfMemoryError: no memory"
    )


@pytest.mark.parametrize("stage", ["importing torch", "looking for GPUs"])
def test_a_rank_that_is_late(stage):
    waiting = stages("meeting the other ranks", 0, 2, at=3)
    result = heard(*stages(stage, 0, 1, 2), *waiting, *beats(0, 1, 2, until=70))
    assert why_lost(result, now=70.0, waited_s=66.0, exit_code=None) == (
        f"rank 1 (node1) is still {stage}, and nothing moved for 66 s"
    )


def test_where_all_answer_the_stage_is_what_is_known():
    result = heard(
        *stages("connecting with gloo", 0, 1, 2), *stages("pair of ranks 0 and 2", 0, 2), *beats(0, 1, 2, until=70)
    )
    assert why_lost(result, now=70.0, waited_s=69.0, exit_code=None) == (
        "all ranks answer, and none gets on: nothing moved for 69 s at 'pair of ranks 0 and 2'"
    )
