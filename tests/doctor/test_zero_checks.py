"""DeepSpeed configurations: quiet on good ones, then one setting after the other."""

from __future__ import annotations

import json

import pytest
from doctor_machines import checks, machine

from gapfinder.doctor.check import Area, Status
from gapfinder.errors import InputError

GOOD = {
    "train_batch_size": 512,
    "train_micro_batch_size_per_gpu": 8,
    "gradient_accumulation_steps": 4,
    "bf16": {"enabled": True},
    "zero_optimization": {
        "stage": 2,
        "overlap_comm": True,
        "contiguous_gradients": True,
        "reduce_scatter": True,
        "allgather_partitions": True,
        "reduce_bucket_size": 2e8,
        "allgather_bucket_size": 200_000_000,
    },
}


def judged(tmp_path, whole, *, world=None):
    path = tmp_path / "ds.json"
    path.write_text(whole if isinstance(whole, str) else json.dumps(whole))
    environment = {} if world is None else {"WORLD_SIZE": str(world)}
    found = checks(machine(tmp_path / "machine", environment=environment), configuration=path)
    return {code: check for code, check in found.items() if check.area is Area.DEEPSPEED}


def zero(**settings):
    return GOOD | {"zero_optimization": GOOD["zero_optimization"] | settings}


def test_a_good_configuration_passes(tmp_path):
    found = judged(tmp_path, GOOD, world=16)
    assert {check.status for check in found.values()} == {Status.OK}
    assert found["zero-buckets"].seen == (
        "reduce_bucket_size is 200,000,000 elements, allgather_bucket_size is 200,000,000 elements"
    )
    assert len(found) == 11


def test_without_a_configuration_nothing_is_said_of_it(tmp_path):
    assert not [check for check in checks(machine(tmp_path)).values() if check.area is Area.DEEPSPEED]


def test_what_a_trainer_fills_in_is_not_guessed(tmp_path):
    auto = dict.fromkeys(("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"), "auto")
    settings = zero(reduce_bucket_size="auto", overlap_comm="auto") | auto
    found = judged(tmp_path, settings)
    assert (found["zero-buckets"].status, "auto" in found["zero-buckets"].seen) == (Status.OK, True)
    assert found["deepspeed-batches"].status is Status.NOT_CHECKED


def test_stage_3_overlaps_and_gathers_by_itself(tmp_path):
    found = judged(tmp_path, {"train_batch_size": 8, "zero_optimization": {"stage": 3}})
    assert found["zero-overlap"].status is Status.OK
    assert found["zero-allgather"].status is Status.NOT_CHECKED
    assert "1.5 times" in found["zero-stage"].seen
    below = judged(tmp_path, {"train_batch_size": 8, "zero_optimization": {"stage": 2}})
    assert (below["zero-overlap"].status, "not set" in below["zero-overlap"].seen) == (Status.WARNING, True)


@pytest.mark.parametrize(
    ("settings", "code", "status", "words"),
    [
        ({"stage": 4}, "zero-stage", Status.FAILURE, "stage is 4"),
        ({"stage": True}, "zero-stage", Status.FAILURE, "stage is true"),
        ({"stage": 0}, "zero-stage", Status.WARNING, "overlap_comm, contiguous_gradients, reduce_scatter have no"),
        ({"overlap_comm": False}, "zero-overlap", Status.WARNING, "while backward waits"),
        ({"overlap_comm": "yes"}, "zero-overlap", Status.FAILURE, 'overlap_comm is "yes"'),
        ({"contiguous_gradients": False}, "zero-contiguous", Status.WARNING, "memory fragments"),
        ({"reduce_scatter": False}, "zero-reduce-scatter", Status.WARNING, "twice the bytes"),
        ({"allgather_partitions": False}, "zero-allgather", Status.WARNING, "one broadcast after another"),
        ({"reduce_bucket_size": 4_999_999}, "zero-buckets", Status.WARNING, "many small collectives"),
        ({"allgather_bucket_size": 1.1e9}, "zero-buckets", Status.WARNING, "starts late"),
        ({"reduce_bucket_size": "5e8"}, "zero-buckets", Status.FAILURE, 'reduce_bucket_size is "5e8"'),
        ({"reduce_bucket_size": -1}, "zero-buckets", Status.FAILURE, "reduce_bucket_size is -1"),
        ({"offload_optimizer": {"device": "cpu"}}, "zero-offload-optimizer", Status.WARNING, "step on cpu"),
        ({"offload_optimizer": {"device": "none"}}, "zero-offload-optimizer", Status.OK, "stay on the GPU"),
        ({"offload_optimizer": {"device": None}}, "zero-offload-optimizer", Status.OK, "stay on the GPU"),
        ({"offload_optimizer": "cpu"}, "zero-offload-optimizer", Status.FAILURE, 'offload_optimizer is "cpu"'),
        ({"offload_param": True}, "zero-offload-parameters", Status.FAILURE, "offload_param is true"),
        ({"cpu_offload": True}, "zero-offload-optimizer", Status.WARNING, "step on cpu"),
        ({"offload_param": {"device": "cpu"}}, "zero-offload-parameters", Status.FAILURE, "in stage 2"),
        (
            {"stage": 3, "offload_param": {"device": "nvme"}},
            "zero-offload-parameters",
            Status.WARNING,
            "over PCIe and the disk in forward and in backward",
        ),
    ],
)
def test_a_setting_that_costs_is_told_with_its_trade_off(settings, code, status, words, tmp_path):
    found = judged(tmp_path, zero(**settings))[code]
    assert (found.status, words in found.seen) == (status, True), found.seen
    assert bool(found.advice) is (status is not Status.OK)


def test_pinned_memory_is_asked_for_once(tmp_path):
    pinned = judged(tmp_path, zero(offload_optimizer={"device": "cpu", "pin_memory": True}))["zero-offload-optimizer"]
    plain = judged(tmp_path, zero(offload_optimizer={"device": "cpu"}))["zero-offload-optimizer"]
    assert ("pin_memory" in pinned.advice, "pin_memory" in plain.advice) == (False, True)


@pytest.mark.parametrize(
    ("changes", "world", "status", "words"),
    [
        ({}, 16, Status.OK, "16 ranks"),
        ({}, 8, Status.FAILURE, "256 and not 512"),
        ({}, None, Status.OK, "right for 16 ranks (WORLD_SIZE is not set)"),
        ({"train_batch_size": 500}, None, Status.FAILURE, "32 does not divide the batch"),
        ({"gradient_accumulation_steps": None}, 16, Status.OK, "no number of accumulated"),
        ({"gradient_accumulation_steps": None}, 17, Status.FAILURE, "136 does not divide"),
        ({"train_batch_size": None}, 16, Status.OK, "micro batch 8 x 4 accumulated x ranks"),
        ({"train_batch_size": None, "train_micro_batch_size_per_gpu": None}, None, Status.FAILURE, "neither"),
        ({"train_batch_size": 0}, None, Status.FAILURE, "train_batch_size is 0"),
        ({"train_micro_batch_size_per_gpu": "8"}, None, Status.FAILURE, 'per_gpu is "8"'),
    ],
)
def test_batch_sizes_must_agree(changes, world, status, words, tmp_path):
    whole = {name: value for name, value in (GOOD | changes).items() if value is not None}
    found = judged(tmp_path, whole, world=world)["deepspeed-batches"]
    assert (found.status, words in found.seen) == (status, True), found.seen


def test_gradients_sent_wider_than_they_are_cost_twice(tmp_path):
    found = judged(tmp_path, GOOD | {"communication_data_type": "fp32"})["deepspeed-communication-type"]
    assert (found.status, "twice the bytes" in found.seen) == (Status.WARNING, True)
    full = {name: value for name, value in GOOD.items() if name != "bf16"} | {"communication_data_type": "fp32"}
    assert judged(tmp_path, full)["deepspeed-communication-type"].status is Status.OK


def test_timers_that_wait_are_told(tmp_path):
    assert judged(tmp_path, GOOD | {"wall_clock_breakdown": True})["deepspeed-timers"].status is Status.WARNING


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is no JSON"),
        ("", "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ("[1]", "is no DeepSpeed configuration"),
        ('{"zero_optimization": true}', "is no DeepSpeed configuration"),
    ],
)
def test_what_is_no_configuration_is_refused(text, words, tmp_path):
    with pytest.raises(InputError, match=words):
        judged(tmp_path, text)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(InputError, match="cannot read"):
            checks(machine(tmp_path / "machine"), configuration=path)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e400", "123456789012345678901234567890"])
def test_numbers_that_are_none_break_nothing(number, tmp_path):
    text = json.dumps(zero(reduce_bucket_size=0)).replace('"reduce_bucket_size": 0', f'"reduce_bucket_size": {number}')
    assert judged(tmp_path, text)["zero-buckets"].status in (Status.FAILURE, Status.WARNING)
