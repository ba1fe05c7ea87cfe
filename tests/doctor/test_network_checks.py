"""Network cards and InfiniBand ports, as /sys and ethtool tell of them."""

from __future__ import annotations

import pytest
from doctor_machines import check, checks, machine, recorded, said

from gapfinder.doctor.check import NotCheckedError, Status

CARD = "/sys/class/net/ens1f0np0"
PORT = "/sys/class/infiniband/mlx5_1/ports/1"
ETHTOOL = ("ethtool", "ens1f0np0")
CODES = ("net-speed", "net-maximum", "net-errors", "ib-state", "ib-rate", "ib-errors")


def found(tmp_path, code, **changes):
    answer = check(machine(tmp_path, **changes), code)
    return answer.status, answer.seen


def test_all_is_well_on_a_sound_machine(tmp_path):
    there = checks(machine(tmp_path))
    assert {there[code].status for code in CODES} == {Status.OK}
    assert there["net-speed"].seen == "ens1f0np0 100,000 Mb/s"
    assert there["net-maximum"].seen == "ens1f0np0 100,000 of 100,000 Mb/s"
    assert there["ib-rate"].seen == "mlx5_0:1 400 Gb/sec (4X NDR), mlx5_1:1 400 Gb/sec (4X NDR)"


def test_a_card_at_100_mbps_is_a_failure_with_and_without_ethtool(tmp_path):
    files = {f"{CARD}/speed": "100\n"}
    assert found(tmp_path, "net-speed", files=files) == (Status.FAILURE, "ens1f0np0 runs at 100 Mb/s")
    assert found(tmp_path, "net-maximum", files=files) == (Status.FAILURE, "ens1f0np0 100 of 100,000 Mb/s")
    missing = {ETHTOOL: NotCheckedError("ethtool not found")}
    assert found(tmp_path, "net-maximum", files=files, programs=missing) == (Status.NOT_CHECKED, "ethtool not found")
    assert found(tmp_path, "net-speed", files=files, programs=missing)[0] is Status.FAILURE


def test_a_card_below_its_maximum_may_be_meant(tmp_path):
    files = {f"{CARD}/speed": "25000\n"}
    assert found(tmp_path, "net-speed", files=files)[0] is Status.OK
    assert found(tmp_path, "net-maximum", files=files) == (Status.WARNING, "ens1f0np0 25,000 of 100,000 Mb/s")


def test_one_card_slower_than_its_twin_is_flagged(tmp_path):
    twin = "/sys/class/net/ens1f1np1"
    files = {
        f"{twin}/operstate": "up",
        f"{twin}/speed": "25000",
        f"{twin}/device/vendor": "0x15b3",
        f"{twin}/device/device": "0x101d",
    }
    status, seen = found(tmp_path, "net-speed", files=files)
    assert (status, "ens1f1np1 runs at 25,000 Mb/s, another card of its model" in seen) == (Status.WARNING, True)
    other = found(tmp_path, "net-speed", files=files | {f"{twin}/device/device": "0x1563"})
    assert other == (Status.OK, "ens1f0np0 100,000 Mb/s, ens1f1np1 25,000 Mb/s")


@pytest.mark.parametrize("speed", ["-1\n", "", "0\n", None])
def test_a_virtual_card_tells_no_speed(speed, tmp_path):
    assert found(tmp_path, "net-speed", files={f"{CARD}/speed": speed}) == (
        Status.NOT_CHECKED,
        "ens1f0np0: no speed told, as of a virtual card",
    )


def test_cards_that_are_down_and_bridges_are_left_out(tmp_path):
    status, seen = found(tmp_path, "net-speed", files={f"{CARD}/operstate": "down\n"})
    assert (status, "no network card of its own is up" in seen) == (Status.NOT_CHECKED, True)


def test_what_ethtool_does_not_tell_is_not_judged(tmp_path):
    text = recorded("ethtool_100g_at_25g.txt").partition("Supported link modes")[0]
    assert found(tmp_path, "net-maximum", programs={ETHTOOL: said(text)})[0] is Status.NOT_CHECKED


def test_broken_packets_are_counted(tmp_path):
    files = {f"{CARD}/statistics/rx_crc_errors": "1234\n"}
    assert found(tmp_path, "net-errors", files=files) == (Status.WARNING, "ens1f0np0: 1,234 packets arrived broken")
    nothing = {f"{CARD}/statistics/rx_crc_errors": None}
    assert found(tmp_path / "other", "net-errors", files=nothing)[0] is Status.NOT_CHECKED


def test_ports_that_are_down_are_named(tmp_path):
    one = {f"{PORT}/state": "1: DOWN\n"}
    assert found(tmp_path, "ib-state", files=one) == (Status.WARNING, "mlx5_1:1 is DOWN")
    both = one | {"/sys/class/infiniband/mlx5_0/ports/1/state": "2: INIT\n"}
    assert found(tmp_path, "ib-state", files=both) == (Status.FAILURE, "mlx5_0:1 is INIT, mlx5_1:1 is DOWN")
    assert found(tmp_path, "ib-rate", files=both)[0] is Status.NOT_CHECKED


def test_a_port_slower_than_those_of_its_model_is_a_failure(tmp_path):
    slow = {f"{PORT}/rate": "100 Gb/sec (4X EDR)\n"}
    seen = "mlx5_1:1 at 100 Gb/sec (4X EDR), others of its model at 400 Gb/s"
    assert found(tmp_path, "ib-rate", files=slow) == (Status.FAILURE, seen)
    storage = slow | {"/sys/class/infiniband/mlx5_1/board_id": "MT_0000000224\n"}
    assert found(tmp_path, "ib-rate", files=storage)[0] is Status.OK


def test_a_port_on_one_lane_of_four_is_a_failure_on_infiniband_only(tmp_path):
    card = {f"/sys/class/infiniband/mlx5_{n}/ports/1/rate": "25 Gb/sec (1X EDR)\n" for n in (0, 1)}
    assert found(tmp_path, "ib-rate", files=card)[0] is Status.FAILURE
    roce = card | {f"/sys/class/infiniband/mlx5_{n}/ports/1/link_layer": "Ethernet\n" for n in (0, 1)}
    assert found(tmp_path, "ib-rate", files=roce)[0] is Status.OK


def test_errors_of_ports_are_told(tmp_path):
    files = {f"{PORT}/counters/symbol_error": "17\n", f"{PORT}/counters/link_downed": "2\n"}
    assert found(tmp_path, "ib-errors", files=files) == (Status.WARNING, "mlx5_1:1: link_downed 2, symbol_error 17")


def test_a_port_without_counters_is_not_well(tmp_path):
    files = {f"{PORT}/counters/{name}": None for name in ("link_downed", "symbol_error")}
    assert found(tmp_path, "ib-errors", files=files) == (Status.NOT_CHECKED, "mlx5_1:1 tells no counters")
