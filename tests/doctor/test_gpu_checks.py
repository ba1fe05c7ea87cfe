"""Checks of GPUs over recorded outputs of nvidia-smi: quiet on sound machines of three generations, then one by one."""

from __future__ import annotations

import pytest
from doctor_machines import A100, NVLINK, RECORDED, SMI, TOPOLOGY, checks, edited, machine, recorded, said

from gapfinder.doctor.check import NotCheckedError, Status
from gapfinder.doctor.gpus import QUESTIONS as GPU_QUESTIONS
from gapfinder.doctor.links import QUESTIONS as LINK_QUESTIONS
from gapfinder.doctor.programs import Ran

H100 = "h100x4_driver_570.xml"
A100_XML = "a100x4_driver_525.xml"
V100 = "v100x1_driver_470.xml"
GPU_CODES = [question.code for question in GPU_QUESTIONS]
CODES = [*GPU_CODES, *(question.code for question in LINK_QUESTIONS)]
# the first block of reasons differs in its spelling: clocks_event_reasons from 535 on
TAGS = {
    H100: {"brake": "clocks_event_reason_hw_power_brake_slowdown", "cap": "clocks_event_reason_sw_power_cap"},
    A100_XML: {"brake": "clocks_throttle_reason_hw_power_brake_slowdown", "cap": "clocks_throttle_reason_sw_power_cap"},
}


def with_xml(tmp_path, xml, **changes):
    return checks(machine(tmp_path, programs={SMI: said(xml)}, **changes))


def test_all_is_well_on_a_sound_machine_of_today(tmp_path):
    found = checks(machine(tmp_path))
    assert {code: found[code].status for code in CODES if found[code].status is not Status.OK} == {}
    assert found["gpu-number"].seen == "4 NVIDIA H100 80GB HBM3"
    assert found["gpu-temperature"].seen == "at most 34 °C, at least 53 °C below the slowdown"
    assert found["gpu-pcie-width"].seen == "GPUs 0-3: 16 lanes"
    assert found["gpu-nvlink"].seen == "GPUs 0-3: 18 of 18 links at 26.562 GB/s"


def test_all_gpus_are_well_on_a_sound_machine_of_an_older_driver(tmp_path):
    found = checks(machine(tmp_path, programs=A100))
    doubtful = {code: found[code].status for code in GPU_CODES if found[code].status is not Status.OK}
    assert doubtful == {"gpu-fabric": Status.NOT_CHECKED}
    assert found["gpu-temperature"].seen == "at most 31 °C, at least 58 °C below the slowdown"


def test_an_idle_gpu_of_an_old_driver_is_well_and_its_generation_is_not_known(tmp_path):
    found = with_xml(tmp_path, recorded(V100))
    assert {found[code].status for code in GPU_CODES if code != "gpu-fabric"} == {Status.OK}
    assert found["gpu-ecc-errors"].seen == "none uncorrectable, 0 corrected"
    generation = found["gpu-pcie-generation"]
    assert (generation.status, "generation 1 of 3 while idle" in generation.seen) == (Status.NOT_CHECKED, True)


FAULTS = [
    (H100, {"current_link_width": "8x"}, "gpu-pcie-width", Status.FAILURE, "GPU 2: 8 of 16 lanes"),
    (A100_XML, {"current_link_width": "4x"}, "gpu-pcie-width", Status.FAILURE, "GPU 2: 4 of 16 lanes"),
    (
        H100,
        {"current_link_gen": "1", "gpu_util": "98 %"},
        "gpu-pcie-generation",
        Status.WARNING,
        "1 of 5 while at work",
    ),
    (H100, {"max_device_link_gen": "6"}, "gpu-pcie-generation", Status.WARNING, "generation 5 of the GPU's 6"),
    (H100, {"replay_counter": "1203"}, "gpu-pcie-replays", Status.WARNING, "1,203 packets sent again"),
    (H100, {TAGS[H100]["brake"]: "Active"}, "gpu-clocks", Status.FAILURE, "power supply asks for half the clocks"),
    (A100_XML, {TAGS[A100_XML]["brake"]: "Active"}, "gpu-clocks", Status.FAILURE, "power supply asks"),
    (H100, {TAGS[H100]["cap"]: "Active"}, "gpu-clocks", Status.WARNING, "GPU 2: at its power limit"),
    (H100, {"gpu_temp_tlimit": "-2 C"}, "gpu-temperature", Status.FAILURE, "hot enough to slow down"),
    (H100, {"gpu_temp_tlimit": "4 C"}, "gpu-temperature", Status.WARNING, "GPU 2: 6 °C below its slowdown"),
    (A100_XML, {"gpu_temp": "89 C"}, "gpu-temperature", Status.FAILURE, "hot enough to slow down"),
    (H100, {"used": "40211 MiB"}, "gpu-memory", Status.WARNING, "42.16 GB of 85.52 GB in use"),
    (H100, {"current_ecc": "Disabled"}, "gpu-ecc-mode", Status.WARNING, "Disabled, after a restart Enabled"),
    (H100, {"dram_uncorrectable": "3"}, "gpu-ecc-errors", Status.FAILURE, "3 uncorrectable since the driver"),
    (A100_XML, {"sram_uncorrectable": "1"}, "gpu-ecc-errors", Status.FAILURE, "1 uncorrectable"),
    (H100, {"sram_threshold_exceeded": "Yes"}, "gpu-repairs", Status.FAILURE, "cannot be replaced any more"),
    (H100, {"remapped_row_failure": "Yes"}, "gpu-repairs", Status.FAILURE, "cannot be replaced any more"),
    (A100_XML, {"remapped_row_pending": "Yes"}, "gpu-repairs", Status.FAILURE, "waits to be replaced"),
    (A100_XML, {"remapped_row_unc": "2"}, "gpu-repairs", Status.WARNING, "GPU 2: 2 remapped rows"),
    (H100, {"gpu_recovery_action": "Drain and Reset"}, "gpu-recovery", Status.FAILURE, "needs: Drain and Reset"),
    (A100_XML, {"reset_required": "Yes"}, "gpu-recovery", Status.FAILURE, "needs: Reset"),
    (H100, {"current_mig": "Enabled"}, "gpu-mig", Status.WARNING, "GPU 2: is cut into parts"),
    (H100, {"persistence_mode": "Disabled"}, "gpu-persistence", Status.WARNING, "GPU 2: off"),
    (H100, {"state": "In Progress"}, "gpu-fabric", Status.FAILURE, "GPU 2: In Progress"),
    (H100, {"product_name": "NVIDIA H100 PCIe"}, "gpu-number", Status.WARNING, "3 NVIDIA H100 80GB HBM3, 1 NVIDIA"),
]


@pytest.mark.parametrize(("name", "tags", "code", "status", "seen"), FAULTS)
def test_one_faulty_gpu_is_named(tmp_path, *, name, tags, code, status, seen):
    found = with_xml(tmp_path, edited(recorded(name), gpu=2, **tags))
    assert (found[code].status, seen in found[code].seen) == (status, True), found[code].seen
    assert found[code].advice


def test_the_errors_of_an_old_gpu_are_counted(tmp_path):
    xml = recorded(V100)
    first, double, last = xml.partition("<double_bit>")
    found = with_xml(tmp_path, first + double + last.replace("<total>0<", "<total>2<", 1))
    assert "2 uncorrectable" in found["gpu-ecc-errors"].seen
    found = with_xml(tmp_path, xml.replace("<retired_count>0<", "<retired_count>7<"))
    assert (found["gpu-repairs"].status, found["gpu-repairs"].seen) == (Status.WARNING, "GPU 0: 7 retired pages")


def test_a_process_on_a_gpu_is_somebody_elses(tmp_path):
    process = "<process_info><pid>4242</pid><process_name>train</process_name></process_info>"
    xml = recorded(H100).replace("<processes>", f"<processes>{process}", 1)
    found = with_xml(tmp_path, xml)["gpu-memory"]
    assert (found.status, "by 1 process" in found.seen) == (Status.WARNING, True)


def test_what_one_gpu_does_not_tell_is_never_well(tmp_path):
    found = with_xml(tmp_path, edited(recorded(H100), gpu=1, current_link_width="N/A"))["gpu-pcie-width"]
    assert (found.status, found.seen) == (Status.NOT_CHECKED, "GPU 1: no PCIe width told")


def test_what_no_gpu_tells_is_not_checked(tmp_path):
    xml = recorded(H100).replace("<current_ecc>Enabled", "<current_ecc>N/A")
    found = with_xml(tmp_path, xml)["gpu-ecc-mode"]
    assert (found.status, found.seen) == (Status.NOT_CHECKED, "nvidia-smi tells no ECC mode")


def test_a_gpu_that_fell_off_the_bus_is_missed(tmp_path):
    head, *gpus = recorded(H100).split("\t<gpu id")
    found = with_xml(tmp_path, "\t<gpu id".join([head, *gpus[:2], gpus[3]]))["gpu-number"]
    assert (found.status, found.seen) == (Status.FAILURE, "4 attached, 3 answer")


@pytest.mark.parametrize(
    ("value", "status", "seen"),
    [
        ("0,1", Status.OK, "CUDA_VISIBLE_DEVICES=0,1: 2 of 4"),
        ("GPU-2a5c,GPU-0", Status.OK, "2 of 4"),
        ("0,1,7,2", Status.FAILURE, "no GPU '7' here; 2 of 4 are seen"),
        ("", Status.FAILURE, "0 of 4 are seen"),
        ("-1", Status.FAILURE, "no GPU '-1' here"),
        ("1,1", Status.FAILURE, "names a GPU twice"),
        ("GPU-", Status.FAILURE, "no GPU 'GPU-' here"),
        ("MIG-0a5c0de0-1111", Status.NOT_CHECKED, "names parts of GPUs"),
    ],
)
def test_visible_devices_are_compared_with_those_there(value, status, seen, tmp_path):
    found = checks(machine(tmp_path, environment={"CUDA_VISIBLE_DEVICES": value}))["gpu-visible"]
    assert (found.status, seen in found.seen) == (status, True), found.seen


def test_only_visible_gpus_are_judged(tmp_path):
    xml = edited(recorded(H100), gpu=2, current_link_width="8x", used="40211 MiB")
    seen = {"CUDA_VISIBLE_DEVICES": "0,3"}
    found = with_xml(tmp_path, xml, environment=seen)
    assert [found[code].status for code in ("gpu-pcie-width", "gpu-memory")] == [Status.OK, Status.OK]
    assert found["gpu-pcie-width"].seen == "GPUs 0, 3: 16 lanes"


@pytest.mark.parametrize(
    "answer",
    [
        NotCheckedError("nvidia-smi not found"),
        NotCheckedError("nvidia-smi gave no answer within 20 s"),
        said("Timeout waiting for the driver\n"),
        said("<log></log>"),
        said(""),
        said((b"\xff\xfe" * 10).decode(errors="replace")),
    ],
)
def test_without_an_answer_nothing_is_good_or_bad(answer, tmp_path):
    found = checks(machine(tmp_path, programs={SMI: answer, TOPOLOGY: answer, NVLINK: answer}))
    assert {found[code].status for code in CODES} == {Status.NOT_CHECKED}
    assert all("nvidia-smi" in found[code].seen for code in CODES)


def test_recorded_garbage_is_no_report(tmp_path):
    text = (RECORDED / "garbage.bin").read_bytes().decode(errors="replace")
    found = with_xml(tmp_path, text)
    assert {found[code].status for code in GPU_CODES} == {Status.NOT_CHECKED}
    assert "printed no XML" in found["gpu-number"].seen


def test_a_driver_that_is_not_there_is_a_failure_and_leaves_the_rest_open(tmp_path):
    words = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
    found = checks(machine(tmp_path, programs={SMI: Ran(code=9, output=words, errors="")}))
    assert (found["gpu-driver"].status, words in found["gpu-driver"].seen) == (Status.FAILURE, True)
    assert {found[code].status for code in GPU_CODES[1:]} == {Status.NOT_CHECKED}
    assert "nvidia-smi failed" in found["gpu-memory"].seen
