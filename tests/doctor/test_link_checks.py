"""NVLink states and topology matrices, as nvidia-smi of several ages prints them."""

from __future__ import annotations

import pytest
from doctor_machines import A100, NVLINK, SMI, TOPOLOGY, checks, machine, recorded, said

from gapfinder.doctor.check import Status
from gapfinder.doctor.topology import parse_cpus, parse_topology

H100_LINKS = recorded("h100x4_nvlink.txt")


def nvlink(tmp_path, text):
    return checks(machine(tmp_path, programs={NVLINK: said(text)}))["gpu-nvlink"]


def changed(text, *, gpu, link, state):
    """The state of links where one link of one GPU differs."""
    parts = text.split("GPU ")
    speed = f"Link {link}: 26.562 GB/s"
    assert speed in parts[gpu + 1]
    parts[gpu + 1] = parts[gpu + 1].replace(speed, f"Link {link}: {state}")
    return "GPU ".join(parts)


def test_a_link_that_is_down_on_one_gpu_is_a_failure(tmp_path):
    found = nvlink(tmp_path, changed(H100_LINKS, gpu=1, link=17, state="<inactive>"))
    assert (found.status, found.seen) == (Status.FAILURE, "GPU 1: 17 of 18 links, others have 18")


def test_visible_gpus_are_compared_with_all_of_their_model(tmp_path):
    text = changed(H100_LINKS, gpu=1, link=17, state="<inactive>")
    alone = machine(tmp_path, programs={NVLINK: said(text)}, environment={"CUDA_VISIBLE_DEVICES": "1"})
    assert checks(alone)["gpu-nvlink"].seen == "GPU 1: 17 of 18 links, others have 18"


def test_a_slower_link_is_a_failure(tmp_path):
    found = nvlink(tmp_path, changed(H100_LINKS, gpu=3, link=4, state="13.281 GB/s"))
    assert (found.status, found.seen) == (Status.FAILURE, "GPU 3: 18 of 18 links, from 13.281 to 26.562 GB/s")


def test_links_that_are_down_on_all_alike_are_doubtful(tmp_path):
    text = H100_LINKS.replace("Link 17: 26.562 GB/s", "Link 17: <inactive>")
    found = nvlink(tmp_path, text)
    assert (found.status, found.seen) == (Status.WARNING, "GPUs 0-3: 17 of 18 links")


def test_bridges_between_pcie_cards_use_some_links_only(tmp_path):
    xml = recorded("h100x4_driver_570.xml").replace("H100 80GB HBM3", "H100 PCIe")
    text = H100_LINKS.replace("Link 4: 26.562 GB/s", "Link 4: <inactive>")
    found = checks(machine(tmp_path, programs={NVLINK: said(text), SMI: said(xml)}))["gpu-nvlink"]
    assert (found.status, found.seen) == (Status.OK, "GPUs 0-3: 17 of 18 links at 26.562 GB/s")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (H100_LINKS.replace("26.562 GB/s", "<inactive>"), "no NVLink is active"),
        ("GPU 0: Tesla T4 (UUID: GPU-1)\nGPU 1: Tesla T4 (UUID: GPU-2)\n", "no GPU with NVLink"),
        ("Unable to retrieve NVLink information\n", "names no GPU"),
    ],
)
def test_without_nvlink_nothing_is_judged(text, reason, tmp_path):
    found = nvlink(tmp_path, text)
    assert (found.status, reason in found.seen) == (Status.NOT_CHECKED, True)


def test_the_matrix_of_today_is_read():
    places = parse_topology(recorded("h100x4_topology.txt"))
    assert sorted(places) == [0, 1, 2, 3]
    assert places[1].to_gpus == {0: "NV6", 2: "NV6", 3: "NV6"}
    assert places[1].to_cards == {"mlx5_0": "NODE", "mlx5_1": "SYS"}
    assert places[3].cpus == {*range(48, 96), *range(144, 192)}


def test_the_matrix_of_an_old_driver_is_read():
    places = parse_topology(recorded("a100x4_topology_old.txt"))
    assert places[0].to_gpus == {1: "NV4", 2: "SYS", 3: "SYS"}
    assert places[2].to_cards == {"mlx5_0": "SYS"}
    assert places[2].cpus == {*range(32, 64), *range(96, 128)}


@pytest.mark.parametrize("text", ["", "no devices\n", "\tGPU0\tCPU Affinity\n", "GPU0\n", "GPU0\tX\n"])
def test_what_is_no_matrix_places_nothing(text, tmp_path):
    found = checks(machine(tmp_path, programs={TOPOLOGY: said(text)}))
    codes = ("topology-gpus", "topology-cards", "topology-cpus")
    assert {found[code].status for code in codes} == {Status.NOT_CHECKED}


def test_a_single_gpu_has_no_pair(tmp_path):
    text = "\tGPU0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \t0-15\t0\n"
    found = checks(machine(tmp_path, programs={TOPOLOGY: said(text)}))
    assert (found["topology-gpus"].status, found["topology-gpus"].seen) == (Status.NOT_CHECKED, "one GPU only")
    assert "RDMA" in found["topology-cards"].seen
    assert found["topology-cpus"].status is Status.OK


def test_pairs_over_the_cpu_and_gpus_far_from_every_card_are_flagged(tmp_path):
    found = checks(machine(tmp_path, programs=A100))
    gpus, cards = found["topology-gpus"], found["topology-cards"]
    assert gpus.status is cards.status is Status.WARNING
    assert gpus.seen == "4 of 6 pairs of GPUs meet over a CPU: 0-2 (SYS), 0-3 (SYS), 1-2 (SYS), 1-3 (SYS)"
    assert cards.seen == "GPUs 2-3: every network card is across the CPUs (SYS)"


def test_a_process_bound_away_from_its_gpus_is_flagged(tmp_path):
    found = checks(machine(tmp_path, cpus=frozenset(range(48))))["topology-cpus"]
    assert (found.status, found.seen) == (
        Status.WARNING,
        "this process may use CPUs 0-47; GPUs 2-3: CPUs 48-95, 144-191 are near",
    )


@pytest.mark.parametrize(("rank", "status"), [("1", Status.OK), ("2", Status.WARNING)])
def test_a_rank_is_compared_with_its_own_gpu(rank, status, tmp_path):
    bound = machine(tmp_path, cpus=frozenset(range(48)), environment={"LOCAL_RANK": rank})
    assert checks(bound)["topology-cpus"].status is status


def test_the_rank_counts_visible_gpus(tmp_path):
    environment = {"LOCAL_RANK": "0", "CUDA_VISIBLE_DEVICES": "3,0"}
    found = checks(machine(tmp_path, cpus=frozenset(range(48)), environment=environment))["topology-cpus"]
    assert (found.status, "GPU 3:" in found.seen) == (Status.WARNING, True)


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("0-3,8", {0, 1, 2, 3, 8}), ("5", {5}), ("", set()), ("N/A", set()), ("3-1", set()), ("0-", set())],
)
def test_lists_of_cpus_are_read(text, cpus):
    assert parse_cpus(text) == cpus
