"""The self-check: quiet where ranks agree, and each disagreement told with the ranks it is about."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gapfinder.errors import SelfCheckError
from gapfinder.training import GpuFacts, RankFacts, SelfCheck, disagreements, self_check
from gapfinder.training.own_facts import read_gpus

GB = 10**9


def gpus(host: str, **changes) -> tuple[GpuFacts, ...]:
    every = (
        GpuFacts(
            index=index,
            uuid=f"GPU-{host}-{index}",
            name="NVIDIA A100",
            driver="550.54",
            memory_bytes=80 * GB,
            used_bytes=0,
            temperature_c=40,
        )
        for index in range(2)
    )
    return tuple(replace(gpu, **changes) for gpu in every)


def rank(number: int, **changes) -> RankFacts:
    host = "ab"[number // 2]
    facts = RankFacts(
        rank=number,
        host=host,
        python="3.12.1",
        torch="2.6.0",
        cuda="12.4",
        nccl="2.21.5",
        gpus=gpus(host),
        own_gpu=f"GPU-{host}-{number % 2}",
        # each calls itself at its loopback, as Debian sets it up
        addresses={"a": ("127.0.1.1",) if host == "a" else ("10.0.0.1",), "b": ("10.0.0.2",)},
        temporary="/scratch",
        temporary_free_bytes=50 * GB,
    )
    return replace(facts, **changes)


def told(*changed: RankFacts, **options) -> tuple[str, ...]:
    ranks = {number: rank(number) for number in range(4)} | {one.rank: one for one in changed}
    return disagreements(SelfCheck(ranks=tuple(ranks.values())), **options)


def test_four_ranks_on_two_hosts_agree():
    assert told() == ()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"torch": "2.5.1"}, "torch differs: 2.6.0 on ranks 0, 1, 2, 2.5.1 on rank 3"),
        ({"nccl": None}, "NCCL differs: 2.21.5 on ranks 0, 1, 2, none on rank 3"),
        ({"python": "3.11.7"}, "Python differs: 3.12.1 on ranks 0, 1, 2, 3.11.7 on rank 3"),
        ({"own_gpu": "GPU-b-0"}, "ranks 2, 3 work on the same GPU of b: set the device from LOCAL_RANK"),
        ({"gpus": gpus("b")[:1]}, "b has 1 GPU, not 2"),
        ({"gpus": None}, "b tells of no GPUs, not 2"),
        ({"gpus": gpus("b", driver="535.1")}, "the driver differs: 550.54 on a, 535.1 on b, 550.54 on b"),
        (
            {"gpus": (replace(gpus("b")[0], temperature_c=91), gpus("b")[1])},
            "GPU 0 of b has 91 °C, over 85: look at its cooling",
        ),
        ({"temporary_free_bytes": 5_000_000}, "/scratch of b has 5.000 MB free, less than 1.000 GB"),
        ({"addresses": {"a": (), "b": ()}}, "b does not know the host a: compare /etc/hosts"),
    ],
)
def test_what_one_rank_sees_otherwise_is_told(changes, expected):
    # facts of a host come from its last rank
    assert expected in told(rank(3, **changes))


def test_hosts_that_are_found_at_different_addresses_are_told():
    ranks = (
        rank(0),
        rank(2, addresses={"a": ("10.0.0.1",)}),
        replace(rank(3), host="c", addresses={"a": ("10.9.9.9",)}),
    )
    (one,) = [line for line in disagreements(SelfCheck(ranks=ranks)) if "several addresses" in line]
    assert one == "the host a has several addresses: 10.0.0.1 on b, 10.9.9.9 on c; compare /etc/hosts"


def test_a_host_with_an_address_in_common_is_the_same():
    ranks = (rank(0), rank(2, addresses={"a": ("10.0.0.1", "fd00::1")}), replace(rank(3), host="c"))
    assert not [line for line in disagreements(SelfCheck(ranks=ranks)) if "host a " in line]


def test_the_limits_can_be_given():
    assert told(gpus=2, hottest_c=40, free_temporary_bytes=50 * GB) == ()
    assert len(told(gpus=8)) == 2
    assert len(told(hottest_c=39)) == 4
    assert len(told(free_temporary_bytes=51 * GB)) == 2


def test_one_process_checks_itself_without_torch_and_nvidia_smi(monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    check = self_check(free_temporary_bytes=0)
    assert (check.own.rank, check.own.gpus, len(check.ranks)) == (0, None, 1)
    assert check.own.addresses.keys() == {check.own.host} - {"localhost"}
    with pytest.raises(SelfCheckError, match=r"2 reasons not to begin: .* tells of no GPUs, not 8; .* free, less than"):
        self_check(gpus=8, free_temporary_bytes=10**18)


SMI = """\
0, GPU-8f2c, NVIDIA H100 80GB HBM3, 550.54.15, 81559, 1024, 34
1, GPU-77aa, NVIDIA H100 80GB HBM3, 550.54.15, [N/A], 0, -3
"""


def test_what_nvidia_smi_lists_is_read():
    first, second = read_gpus(SMI)
    assert first == GpuFacts(
        index=0,
        uuid="GPU-8f2c",
        name="NVIDIA H100 80GB HBM3",
        driver="550.54.15",
        memory_bytes=81559 * 2**20,
        used_bytes=2**30,
        temperature_c=34,
    )
    assert (second.memory_bytes, second.temperature_c) == (None, -3)


@pytest.mark.parametrize("text", ["No devices were found\n", "0, GPU-1\n", "x, GPU-8, A, 1, 2, 3, 4\n"])
def test_something_else_than_a_list_is_not_taken_for_one(text):
    assert read_gpus(text) is None


def test_an_empty_list_has_no_gpus():
    assert read_gpus("") == ()
