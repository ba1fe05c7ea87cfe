"""What the measurement brings to light, as checks of the doctor."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gapfinder.capture.outcome import format_ranks
from gapfinder.doctor.check import (
    Area,
    NotCheckedError,
    Question,
    Verdict,
    failure,
    not_checked,
    ok,
    summed_up,
    warning,
)
from gapfinder.doctor.comm.judge import RATIOS, judge
from gapfinder.units import format_bandwidth, format_bytes, format_count, format_share

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gapfinder.doctor.check import Check
    from gapfinder.doctor.comm.judge import Kind, SlowCard, SlowLink
    from gapfinder.doctor.comm.link import GivenLink
    from gapfinder.doctor.comm.measured import Measured
    from gapfinder.doctor.comm.session import Probed

_OF_LINK = 0.5  # less than half of what it should carry is more than protocols and copies take
_SHOWN = 5
_ELSEWHERE = "the ranks of this node have done their part; the result is on that of rank 0"


def _of(probed: Probed) -> Measured:
    if probed.measured is None:
        raise NotCheckedError("nothing was measured" if probed.lost else _ELSEWHERE)
    return probed.measured


def _ranks(probed: Probed) -> Verdict:
    if probed.measured is None and not probed.lost:
        return not_checked(_ELSEWHERE)
    if probed.measured is None:
        return failure(
            probed.lost,
            advice="What that rank and the launcher said is above. Look at its host with `gapfinder doctor`, at the "
            "address of rank 0 (MASTER_ADDR), firewalls, and the network cards in use (GLOO_SOCKET_IFNAME, "
            "NCCL_SOCKET_IFNAME).",
        )
    hosts = probed.measured.hosts
    told = f"{format_count(len(probed.measured.ranks), 'rank')} on {format_count(len(hosts), 'host')}"
    if probed.exit_code:
        return warning(
            f"{told}; the launcher ended with exit code {probed.exit_code} after all was measured",
            advice="A training may end like that, too: see what was said above.",
        )
    return ok(f"{told}: {', '.join(hosts[:_SHOWN])}{', ...' if len(hosts) > _SHOWN else ''}")


def _versions(probed: Probed) -> Verdict:
    ranks = _of(probed).ranks
    found = [
        (failure, "NCCL", {rank.rank: rank.nccl for rank in ranks if rank.nccl is not None}),
        (warning, "torch", {rank.rank: rank.torch for rank in ranks}),
        (warning, "Python", {rank.rank: rank.python for rank in ranks}),
    ]
    told = ", ".join(f"{name} {next(iter(by_rank.values()))}" for _, name, by_rank in found if by_rank)
    return summed_up(
        (
            how(
                f"{name} differs: {_by_value(by_rank)}",
                advice="Give all ranks the same environment: different versions hang, or give wrong results.",
            )
            for how, name, by_rank in found
            if len(set(by_rank.values())) > 1
        ),
        otherwise=f"all have {told}",
    )


def _by_value(by_rank: Mapping[int, str | None]) -> str:
    values = dict.fromkeys(by_rank.values())
    return ", ".join(
        f"{value} ({format_ranks([rank for rank, its in by_rank.items() if its == value])})" for value in values
    )


def _backend(probed: Probed) -> Verdict:
    measured = _of(probed)
    without = [rank.rank for rank in measured.ranks if rank.device is None]
    if not without:
        return ok(f"{measured.backend}, a GPU for each rank")
    if len(without) < len(measured.ranks):
        return failure(
            f"{format_ranks(without)} ({measured.ranks[without[0]].host}) without a GPU of its own, others have one: "
            f"measured with {measured.backend} on CPUs",
            advice="Look at CUDA_VISIBLE_DEVICES, at the number of ranks per host and at `gapfinder doctor` there.",
        )
    if any(rank.gpus for rank in measured.ranks):
        return warning(
            f"{measured.backend} on CPUs: there are fewer GPUs than ranks on a host",
            advice="Start one rank for each GPU to measure what NCCL does.",
        )
    return ok(f"{measured.backend} on CPUs: no rank sees a GPU")


def _cards(probed: Probed) -> Verdict:
    kinds = judge(_of(probed))
    if not any(kind.knows_cards for kind in kinds):
        return not_checked("too few pairs to compare: it takes all those of three ranks")
    cards = [card for kind in kinds for card in kind.cards]
    return summed_up(
        (
            failure(
                _card(card),
                advice="Look at that host with `gapfinder doctor`: speed and errors of its network card, lanes of its "
                "GPUs, CPUs; compare the same variables with those of a host that is well.",
            )
            for card in cards
        ),
        otherwise=f"none is {RATIOS[_of(probed).backend]:g} times slower than the others with all of its partners",
    )


def _card(card: SlowCard) -> str:
    who = f"host {card.host}" if card.rank is None else f"rank {card.rank} ({card.host})"
    where = "within its host" if card.is_within else "with every other host" if card.rank is None else "with every rank"
    return (
        f"{who} is slow {where}: at best {format_bandwidth(card.best)}{_sending(card.direction)}, and "
        f"{format_bandwidth(card.typical)} is typical without it ({_times(card.typical, card.best)})"
    )


def _sending(direction: str) -> str:
    return f" when {direction}" if direction else ""


def _times(typical: float, slow: float) -> str:
    return f"{typical / slow:.1f} times slower"


def _links(probed: Probed) -> Verdict:
    kinds = judge(_of(probed))
    if not any(kind.knows_links for kind in kinds):
        return not_checked("too few pairs to compare: it takes three of ranks that are not slow")
    ratio = RATIOS[_of(probed).backend]
    advice = "Both are fast with others, so it is what is between them: cable, switch port or route; between GPUs of "
    advice += "one host, `nvidia-smi nvlink -s` and `nvidia-smi topo -m`."
    found = [failure(_link(link), advice=advice) for kind in kinds for link in kind.links]
    found += [
        warning(
            f"{format_count(kind.many)} of {format_count(kind.pairs, 'pair')} {_where(kind)} are {ratio:g} times "
            "slower than the median: too many to be single faults",
            advice="Compare with how the machines are wired (`nvidia-smi topo -m`, switches): it may be meant so.",
        )
        for kind in kinds
        if kind.many
    ]
    found += [
        warning(
            f"pairs {_where(kind)} differ by {kind.fastest.bandwidth / kind.slowest.bandwidth:.1f} times, and no "
            "single card or link explains it",
            advice="Compare with how the machines are wired, and measure again while they do nothing else.",
        )
        for kind in kinds
        if kind.is_uneven and not (kind.cards or kind.links or kind.many)
    ]
    return summed_up(found, otherwise=f"none is {ratio:g} times slower than the median of the pairs")


def _where(kind: Kind) -> str:
    return "within hosts" if kind.is_within else "between hosts"


def _link(link: SlowLink) -> str:
    one, other = link.hosts
    if link.ranks is None:
        who = f"between hosts {one} and {other}"
    elif one == other:
        who = "between ranks {} and {} of {}".format(*link.ranks, one)
    else:
        who = f"between rank {link.ranks[0]} ({one}) and rank {link.ranks[1]} ({other})"
    way = "" if link.direction is None else " from rank {} to rank {}".format(*link.direction)
    return (
        f"{who}: {format_bandwidth(link.speed)}{way}, and {format_bandwidth(link.typical)} is the median "
        f"({_times(link.typical, link.speed)})"
    )


def _given(probed: Probed, *, link: GivenLink | None) -> Verdict:
    kinds = judge(_of(probed))
    if link is None:
        return not_checked("no --link says what it should be")
    kind = kinds[-1]  # between hosts, where there are several: the link in question
    share = format_share(kind.typical / link.bandwidth)
    told = f"pairs {_where(kind)} have {format_bandwidth(kind.typical)}, {share} of {link.name}"
    slowest = kind.slowest
    if slowest.bandwidth >= _OF_LINK * link.bandwidth:
        return ok(told)
    return failure(
        f"{told}; the slowest is of ranks {slowest.ranks[0]} and {slowest.ranks[1]}: "
        f"{format_bandwidth(slowest.bandwidth)}, {format_share(slowest.bandwidth / link.bandwidth)}",
        advice="Protocols take less than half: see which card and transport are in use (NCCL_DEBUG=INFO, "
        "GLOO_SOCKET_IFNAME). gloo copies through the CPU, and does not fill a fast link.",
    )


def _complete(probed: Probed) -> Verdict:
    measured = _of(probed)
    left_out = [f"{operation} of {format_bytes(size)}" for operation, size in measured.skipped]
    missing = measured.pairs_in_all - len(measured.pairs)
    if missing:
        left_out.append(f"{format_count(missing)} of {format_count(measured.pairs_in_all, 'pair')}")
    if left_out:
        return warning(f"no time for {', '.join(left_out)}", advice="Give it more with --seconds.")
    return ok(
        f"{format_count(len(measured.collectives), 'collective')} and {format_count(measured.pairs_in_all, 'pair')}"
    )


def checks_of(probed: Probed, *, link: GivenLink | None) -> tuple[Check, ...]:
    """Return the checks of a job's communication, in the order of a report."""
    return tuple(question.answered(probed) for question in _questions(link))


def _questions(link: GivenLink | None) -> Iterator[Question[Probed]]:
    for code, title, ask in (
        ("comm-ranks", "ranks", _ranks),
        ("comm-versions", "versions of ranks", _versions),
        ("comm-backend", "backend", _backend),
        ("comm-cards", "slow cards and hosts", _cards),
        ("comm-links", "slow links", _links),
        ("comm-given", "against --link", partial(_given, link=link)),
        ("comm-complete", "all measured", _complete),
    ):
        yield Question(code=code, area=Area.COMMUNICATION, title=title, ask=ask)


CODES = tuple(question.code for question in _questions(None))
"""Names of the checks."""
