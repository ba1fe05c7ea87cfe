"""`gapfinder estimate`: hand calculations, the documented examples, and what is refused."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gapfinder.cli.app import commands

ROOT = Path(__file__).parents[2]
EXAMPLE = re.compile(r"^```sh\n(gapfinder estimate .*?)\n```\n\n```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)
GRADIENTS = "all-reduce --bytes 14GB --ranks 8 --bandwidth 40Gb/s"
PLAN = "plan --parameters 7B --dtype bf16 --ranks 8 --memory 80GB --bandwidth 40Gb/s"
SHAPE = "--layers 32 --hidden 4096 --sequence 2048 --batch 1"


def run(arguments: str) -> Result:
    return CliRunner().invoke(commands, ["estimate", *shlex.split(arguments)])


def answer(arguments: str) -> dict:
    result = run(f"{arguments} --format json")
    assert (result.exit_code, result.stderr) == (0, "")
    return json.loads(result.stdout)


def choice(plan: dict, name: str) -> dict:
    (found,) = [item for item in plan["choices"] if item["name"] == name]
    return found


EXAMPLES = EXAMPLE.findall((ROOT / "docs" / "estimate.md").read_text(encoding="utf-8"))


def test_every_example_has_its_output():
    assert len(EXAMPLES) == (ROOT / "docs" / "estimate.md").read_text(encoding="utf-8").count("```sh\n") == 5


def test_one_rank_is_one_and_is_not_compared_with_itself():
    stdout = run("all-reduce --bytes 14GB --ranks 1 --bandwidth 40Gb/s --compute 100ms").stdout
    assert "over 1 rank: 0 ns" in stdout
    assert "speed-up" not in stdout
    assert "speed-up" in run(f"{GRADIENTS} --compute 100ms").stdout


@pytest.mark.parametrize(("command", "printed"), EXAMPLES)
def test_a_documented_example_prints_what_is_documented(command, printed):
    result = run(command.replace("\\\n", " ").removeprefix("gapfinder estimate "))
    assert (result.exit_code, result.stdout) == (0, printed)


@pytest.mark.parametrize(
    ("arguments", "time_ns"),
    [
        (GRADIENTS, 4_900_000_000),
        ("all-reduce --bytes 14GB --ranks 8 --bandwidth 100Gb/s", 1_960_000_000),
        ("all-reduce --parameters 7B --dtype bf16 --ranks 8 --bandwidth 5GB/s", 4_900_000_000),
        ("all-reduce --parameters 7B --dtype fp32 --ranks 8 --bandwidth 40Gb/s", 9_800_000_000),
        (f"{GRADIENTS} --compression 2", 2_450_000_000),
        (f"{GRADIENTS} --latency 10us", 4_900_140_000),
        (f"{GRADIENTS} --latency 10us --algorithm tree", 4_900_060_000),
        ("all-gather --bytes 8GB --ranks 8 --bandwidth 1GB/s", 7_000_000_000),
        ("reduce-scatter --bytes 8GB --ranks 8 --bandwidth 1GB/s", 7_000_000_000),
        ("all-to-all --bytes 8GB --ranks 8 --bandwidth 1GB/s", 7_000_000_000),
        ("broadcast --bytes 8GB --ranks 8 --bandwidth 1GB/s", 8_000_000_000),
        ("reduce --bytes 8GB --ranks 8 --bandwidth 1GB/s", 8_000_000_000),
        ("send-recv --bytes 1GiB --ranks 2 --bandwidth 1GiB/s", 1_000_000_000),
        ("all-reduce --bytes 14GB --ranks 1 --bandwidth 40Gb/s --latency 1s", 0),
        # 7/8 of 16 GB inside at 100 GB/s twice, and 2 GB by each card across two nodes at 10 GB/s
        (
            "all-reduce --bytes 16GB --ranks 16 --nodes 2 --intra-bandwidth 100GB/s --bandwidth 10GB/s",
            2 * 140_000_000 + 200_000_000,
        ),
    ],
)
def test_a_bill_is_what_a_hand_calculation_says(arguments, time_ns):
    assert answer(arguments)["time_ns"] == time_ns


def test_compute_hides_at_most_itself_and_the_speed_up_says_against_what():
    per_card, in_all = answer(f"{GRADIENTS} --compute 1s")["scaling"]
    assert (per_card["exposed_step_ns"], per_card["hidden_step_ns"]) == (5_900_000_000, 4_900_000_000)
    assert (in_all["exposed_step_ns"], in_all["hidden_step_ns"]) == (5_025_000_000, 4_900_000_000)
    assert per_card["exposed_speedup"] == pytest.approx(8 / 5.9)
    assert in_all["hidden_speedup"] == pytest.approx(1 / 4.9)
    assert "8 cards are slower than one, whatever is hidden" in run(f"{GRADIENTS} --compute 1s").stdout


def test_a_slower_link_may_be_saved_by_hiding():
    # alone 8 s; spread 1 s and 7.5 s of all-reduce, of which 1 s can be hidden
    text = run("all-reduce --bytes 7.5GB --ranks 2 --bandwidth 5GB/s --compute 2s").stdout
    assert "2 cards are slower than one, unless communication is hidden" in text
    assert "slower" not in run("all-reduce --bytes 1GB --ranks 8 --bandwidth 100GB/s --compute 1s").stdout


def test_accumulation_changes_how_often_and_not_how_much():
    often, seldom = answer(f"{GRADIENTS} --compute 1s"), answer(f"{GRADIENTS} --compute 1s --accumulation 4")
    assert often["size_bytes"] == seldom["size_bytes"]
    assert often["time_ns"] == seldom["time_ns"] == 4 * seldom["per_micro_step_ns"]
    per_card = seldom["scaling"][0]
    assert (per_card["compute_ns"], per_card["hidden_at_best_ns"]) == (4_000_000_000, 1_000_000_000)
    assert per_card["hidden_step_ns"] == 4_000_000_000 + 3_900_000_000


@pytest.mark.parametrize(
    ("parameters", "simplest"),
    [("1B", "data parallel"), ("5B", "data parallel"), ("7B", "ZeRO-2"), ("30B", "ZeRO-3 (FSDP)"), ("70B", None)],
)
def test_the_simplest_that_fits_comes_first(parameters, simplest):
    arguments = PLAN.replace("7B", parameters)
    plan = answer(arguments)
    assert plan["simplest"] == simplest
    assert [item["fits"] for item in plan["choices"]] == sorted((i["fits"] for i in plan["choices"]), reverse=True)
    first = run(arguments).stdout.splitlines()[0]
    assert first.startswith(f"Simplest that fits: {simplest}." if simplest else "Nothing fits")


@pytest.mark.parametrize(
    ("name", "gigabytes"),
    [
        ("data parallel", (14, 14, 84)),
        ("ZeRO-1", (14, 14, 10.5)),
        ("ZeRO-2", (14, 1.75, 10.5)),
        ("ZeRO-3 (FSDP)", (1.75, 1.75, 10.5)),
        ("tensor 2, data 4", (7, 7, 42)),
        ("pipeline 2, data 4, ZeRO-1", (7, 7, 10.5)),
        ("tensor 2, pipeline 2, data 2, ZeRO-1", (3.5, 3.5, 10.5)),
    ],
)
def test_states_are_those_of_the_zero_paper(name, gigabytes):
    held = choice(answer(PLAN), name)["states"]
    assert tuple(held.values()) == tuple(round(10**9 * size) for size in gigabytes)


def test_fp32_has_no_copy_of_the_parameters():
    held = choice(answer(PLAN.replace("bf16", "fp32")), "data parallel")["states"]
    assert tuple(held.values()) == (28 * 10**9, 28 * 10**9, 56 * 10**9)


def test_zero_sends_as_much_as_data_parallel_and_zero_3_half_as_much_again():
    plan = answer(PLAN)
    sent = {item["name"]: item["sent_bytes"] for item in plan["choices"]}
    assert sent["data parallel"] == sent["ZeRO-1"] == sent["ZeRO-2"] == 24_500_000_000
    assert sent["ZeRO-3 (FSDP)"] == 36_750_000_000
    assert choice(plan, "ZeRO-3 (FSDP)")["communication_ns"] == 7_350_000_000


def test_what_depends_on_an_unknown_shape_is_not_estimated():
    unknown, known = (choice(answer(f"{PLAN} {more}"), "tensor 2, data 4") for more in ("", SHAPE))
    assert (unknown["sent_bytes"], unknown["communication_ns"]) == (None, None)
    assert "--layers" in unknown["not_estimated"]
    # Replicas: 2 * 3/4 of 7 GB. Layers: 4 * 32 all-reduces over 2 cards of 2 sequences * 2048 * 4096 * 2 bytes.
    assert known["sent_bytes"] == 10_500_000_000 + 128 * (2 * 2048 * 4096 * 2)
    assert known["not_estimated"] is None


def test_a_pipeline_has_a_bubble_and_sends_activations():
    found = choice(answer(f"{PLAN} {SHAPE} --stages 8 --micro-batches 4 --compute 1100ms"), "pipeline 8")
    assert found["bubble"] == pytest.approx(7 / 11)
    assert found["sent_bytes"] == 2 * (8 * 2048 * 4096 * 2)
    assert found["exposed_step_ns"] == 1_100_000_000 * 11 // 4 + found["communication_ns"]


def test_no_micro_batch_is_smaller_than_a_sequence():
    found = choice(answer(f"{PLAN} {SHAPE} --stages 2 --micro-batches 100"), "pipeline 2, data 4")
    assert found["bubble"] == pytest.approx(1 / (2 + 1))


def test_gradients_hide_behind_backward_only():
    # all-reduce 4.9 s, of 3 s compute 2 s are backward
    found = choice(answer(f"{PLAN} --compute 3s"), "data parallel")
    assert (found["exposed_step_ns"], found["hidden_at_best_ns"]) == (7_900_000_000, 2_000_000_000)
    # ZeRO-2: reduce-scatter 2.45 s behind backward 2 s, all-gather 2.45 s behind forward 1 s
    assert choice(answer(f"{PLAN} --compute 3s"), "ZeRO-2")["hidden_at_best_ns"] == 3_000_000_000


def test_tensor_parallelism_stays_in_a_node_and_uses_its_links():
    arguments = (
        f"plan --parameters 7B --dtype bf16 --ranks 16 --nodes 4 --intra-bandwidth 100GB/s --bandwidth 1GB/s"
        f" --memory 8GB {SHAPE}"
    )
    plan = answer(arguments)
    assert max(item["strategy"]["tensor"] for item in plan["choices"]) == 4
    layers = [item for item in choice(plan, "tensor 4, data 4")["transfers"] if item["what"] == "layers"]
    # 128 times 2 * 3/4 of 4 sequences * 2048 * 4096 * 2 bytes, at 100 GB/s
    assert layers[0]["time_ns"] == pytest.approx(128 * 1.5 * (4 * 2048 * 4096 * 2) / 100, abs=128)


def test_one_card_has_one_strategy():
    plan = answer("plan --parameters 1B --dtype bf16 --ranks 1 --memory 80GB --bandwidth 40Gb/s --compute 1s")
    assert [item["name"] for item in plan["choices"]] == ["data parallel"]
    assert (plan["choices"][0]["sent_bytes"], plan["choices"][0]["hidden_step_ns"]) == (0, 1_000_000_000)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("all-reduce --bytes 14Gb --ranks 8 --bandwidth 40Gb/s", "--bytes: not a size: '14Gb'; write 14GB"),
        (
            "all-reduce --bytes 14GB --ranks 8 --bandwidth 40Gbps",
            "--bandwidth: not a bandwidth: '40Gbps'; write 40Gb/s",
        ),
        ("all-reduce --bytes 14GB --ranks 8 --bandwidth 0Gb/s", "nothing arrives"),
        ("all-reduce --ranks 8 --bandwidth 40Gb/s", "how much is sent?"),
        (f"{GRADIENTS} --parameters 7B --dtype bf16", "how much is sent?"),
        ("all-reduce --parameters 7B --ranks 8 --bandwidth 40Gb/s", "how much is sent?"),
        ("all-reduce --parameters 7G --dtype bf16 --ranks 8 --bandwidth 40Gb/s", "--parameters: not a count: '7G'"),
        (f"{GRADIENTS} --compression 0.5", "compression by 0.5"),
        (f"{GRADIENTS} --compression nan", "compression by nan"),
        (f"{GRADIENTS} --compute 0s", "nothing to hide behind"),
        (f"{GRADIENTS} --compute 1", "--compute: not a duration"),
        (f"{GRADIENTS} --nodes 2", "--nodes 2 or more and --intra-bandwidth go together"),
        (f"{GRADIENTS} --intra-bandwidth 1GB/s", "go together"),
        (f"{GRADIENTS} --nodes 3 --intra-bandwidth 1GB/s", "8 ranks do not fill 3 nodes evenly"),
        (f"{PLAN} --tensor 3", "8 ranks cannot be cut into tensor 3"),
        (f"{PLAN} --tensor 4 --stages 4", "8 ranks cannot be cut into tensor 4 and pipeline 4"),
        (f"{PLAN} --nodes 2 --intra-bandwidth 1GB/s --tensor 8", "tensor 8 does not divide the 4 cards of a node"),
        (f"{PLAN} --layers 3", "go together: give all four or none"),
        (PLAN.replace("7B", "0B"), "a model without parameters"),
        (f"{PLAN} --compute 0s", "nothing to hide behind"),
    ],
)
def test_nonsense_is_one_line_and_exit_code_2(arguments, words):
    result = run(arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("gapfinder: error: ")
    assert words in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", ["all-redcue", "all-reduce --ranks 0", f"{GRADIENTS} --bits 3", f"{GRADIENTS} --nodes x"]
)
def test_wrong_usage_is_exit_code_2(arguments):
    result = run(arguments)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert "--help" in result.stderr


def test_an_estimate_loads_neither_pandas_nor_numpy():
    code = (
        "import sys; from gapfinder.cli.app import commands\n"
        f"try: commands(['estimate', *{PLAN.split()}])\n"
        "finally: print(*sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "gapfinder.estimate" in done.stderr.split()
    assert {"pandas", "numpy", "rich"} & set(done.stderr.split()) == set()
