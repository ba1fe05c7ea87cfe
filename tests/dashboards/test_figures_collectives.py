"""Collectives as bars of waiting and transfer, and as bandwidth by size."""

from __future__ import annotations

import pandas as pd
from dashboard_fakes import sample

from dashboards.components.palette import Theme
from dashboards.figures.collectives import Speed, Split, speed_figure, split_figure
from dashboards.pages.collective_rows import longest_instances, speeds_by_size
from gapfinder.tables import COLLECTIVES


def test_waiting_and_transfer_are_stacked_and_what_has_no_split_is_left_out():
    splits = [
        Split(label="AllReduce <x>", wait_ns=3_000_000, transfer_ns=1_000_000),
        Split(label="Broadcast", wait_ns=None, transfer_ns=None),
    ]
    made = split_figure(splits, theme=Theme.LIGHT)
    assert {trace.name: list(trace.x) for trace in made.data} == {"wait": [3_000_000], "transfer": [1_000_000]}
    assert made.data[0].text == ("AllReduce &lt;x&gt;: wait 3.000 ms, 75.0 %",)
    assert made.layout.yaxis.ticktext == ("AllReduce &lt;x&gt;",)


def test_speeds_have_a_line_for_the_link_where_it_is_known():
    speeds = [Speed(operation="AllReduce", size_bytes=50_000_000, bandwidth=22e9, count=6)]
    with_link = speed_figure(speeds, ideal=450e9, theme=Theme.LIGHT)
    assert with_link.layout.shapes[0].y0 == 450e9
    assert with_link.layout.annotations[0].text == "the link: 450.0 GB/s"
    assert {"20.00 MB", "50.00 MB"} <= set(with_link.layout.xaxis.ticktext)
    low, high = (10**power for power in with_link.layout.xaxis.range)
    assert low < 50_000_000 < high
    assert with_link.data[0].text == ("AllReduce, 50.00 MB: 22.00 GB/s (median of 6)",)
    assert speed_figure(speeds, ideal=None, theme=Theme.LIGHT).layout.shapes == ()


def rows_of(*rows: dict[str, object]) -> pd.DataFrame:
    usual = {
        "start": 0, "end": 10, "lane": 0, "step": 1, "instance": 0, "operation": "AllReduce", "communicator": "a",
        "stream": 20, "hidden": 0, "exposed": 10, "wait": -1, "transfer": -1, "late_lane": -1, "bytes": -1, "ranks": 2,
        "algorithm_bandwidth": float("nan"), "bus_bandwidth": float("nan"), "ideal": -1, "ideal_share": float("nan"),
        "is_matched": True, "is_grouped": False,
    }  # fmt: skip
    frame = pd.DataFrame([usual | row for row in rows])
    return frame.astype({column.name: column.dtype for column in COLLECTIVES.columns})


def test_speeds_are_medians_by_operation_and_size():
    frame = rows_of(
        {"bytes": 100, "bus_bandwidth": 1e9},
        {"bytes": 100, "bus_bandwidth": 3e9},
        {"bytes": 100, "bus_bandwidth": 8e9},
        {"bytes": 200, "bus_bandwidth": 4e9},
        {"bytes": 200, "bus_bandwidth": 7e9, "operation": "AllGather"},
        {"bytes": 300},
        {},
    )
    found = [(one.operation, one.size_bytes, one.bandwidth, one.count) for one in speeds_by_size(frame)]
    assert sorted(found) == [("AllGather", 200, 7e9, 1), ("AllReduce", 100, 3e9, 3), ("AllReduce", 200, 4e9, 1)]


def test_without_payloads_there_are_no_speeds():
    assert speeds_by_size(sample("slow_rank").trace.collectives) == []
    assert speeds_by_size(COLLECTIVES.empty()) == []


def test_the_longest_collectives_come_once_each_as_their_longest_lane_saw_them():
    profile = sample("slow_rank")
    kind = profile.analysis.collectives[0]
    found = longest_instances(profile, kind, limit=5)
    frame = profile.trace.collectives
    longest = (frame["end"] - frame["start"]).groupby(frame["instance"]).max().sort_values(ascending=False)
    assert [row[0] for row in found.table.rows] == [str(number) for number in longest.index[:5]]
    assert found.table.caption.endswith("5 of 18 collectives shown: the longest.")
    assert {row[-1] for row in found.table.rows} == {"rank 3"}
    assert all(link.startswith("/p/") for link in found.links)
    assert len(found.links) == 5
