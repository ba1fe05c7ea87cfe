"""Looks up single things of one lane in its columns: what runs at a moment, what launched it, what is around it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dashboards.data.detail_values import Inside, Launch, NamedOperation, SeenCollective, StepAt, Timed
from dashboards.data.in_view import events_in, operations_in, steps_in
from dashboards.data.rows import OPERATIONS, Row
from gapfinder.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from dashboards.data.trace import Events, Int64s, Trace

_THREAD = 0xFFFFFF
_BLOCKING = (Row.COMPUTE, Row.GRAPHS)


def system_thread(thread: int | None) -> int | None:
    """Return the operating system's number of a globalTid."""
    return None if thread is None else thread & _THREAD


class LaneLookup:
    """Answers about one lane. Moments are asked on the lane's own clock, and told in ns since the profile's origin."""

    def __init__(self, trace: Trace, place: int) -> None:
        check_place(place, of=len(trace.lanes), what="lane")
        self._trace, self._place = trace, place
        self.lane = trace.lanes[place]
        self.process = trace.processes[self.lane.process]

    def since_origin(self, own: int) -> int:
        """Return a moment as it is told."""
        return self.lane.clock.shared(own) - self._trace.origin_ns

    def timed(self, name: int, start: int, end: int) -> Timed:
        """Return something with its name, which is given by its code."""
        return Timed(name=self._trace.names[name], start_ns=self.since_origin(start), duration_ns=end - start)

    def operation(self, row: Row, op: int) -> NamedOperation:
        """Return an operation of a row."""
        one = self.lane.operations[OPERATIONS[row]]
        check_place(op, of=len(one.starts), what=f"operation in {row}")
        time = self.timed(int(one.names[op]), int(one.starts[op]), int(one.ends[op]))
        return NamedOperation(row=row, op=op, time=time, stream=int(one.streams[op]))

    def beginning_at(self, time: int) -> NamedOperation | None:
        """Return the compute kernel or graph that starts at a moment; of several the first by name."""
        found = []
        for row in _BLOCKING:
            starts, ends = self.lane.operations[OPERATIONS[row]].starts, self.lane.operations[OPERATIONS[row]].ends
            first, last = starts.searchsorted((time, time + 1)).tolist()
            found += [self.operation(row, first + op) for op in np.flatnonzero(ends[first:last] > time).tolist()]
        return min(found, key=lambda one: one.time.name, default=None)

    def ending_at(self, time: int) -> NamedOperation | None:
        """Return the compute kernel or graph that ends at a moment; of several the first by name."""
        found = []
        for row in _BLOCKING:
            one, busy = self.lane.operations[OPERATIONS[row]], self.lane.busy[OPERATIONS[row]]
            places = operations_in(one, busy, start=time - 1, end=time).places()
            found += [self.operation(row, op) for op in places[one.ends[places] == time].tolist()]
        return min(found, key=lambda one: one.time.name, default=None)

    def launch_call(self, operation: NamedOperation) -> int | None:
        """Return the place of an operation's launch call among its process's calls; None where it was not captured."""
        call = int(self.lane.operations[OPERATIONS[operation.row]].calls[operation.op])
        return None if call < 0 else call

    def launch(self, operation: NamedOperation, call: int) -> Launch:
        """Return an operation's launch call."""
        calls, one = self.process.calls, self.lane.operations[OPERATIONS[operation.row]]
        return Launch(
            call=self.timed(int(calls.names[call]), int(calls.starts[call]), int(calls.ends[call])),
            delay_ns=int(one.starts[operation.op]) - int(calls.starts[call]),
            thread=int(calls.threads[call]) & _THREAD,
        )

    def ranges_around(self, thread: int | None, moment: int) -> tuple[str, ...]:
        """Return the texts of a thread's ranges that last at a moment, the outermost first."""
        ranges = self.process.ranges
        places = events_in(ranges, thread, start=moment, end=moment + 1).places()
        return tuple(self._trace.names[code] for code in ranges.names[places[ranges.ends[places] > moment]].tolist())

    def calls_in(self, thread: int | None, start: int, end: int) -> Int64s:
        """Return the places of a thread's calls and overheads with a part in [start, end)."""
        return events_in(self.process.calls, thread, start=start, end=end).places()

    def most_inside(self, events: Events, places: Int64s, *, start: int, end: int, most: int) -> tuple[Inside, ...]:
        """Return the events with most time in [start, end), the most first."""
        inside = np.minimum(events.ends[places], end) - np.maximum(events.starts[places], start)
        order = np.argsort(-inside, kind="stable")[:most]
        return tuple(
            Inside(event=self.timed(int(events.names[at]), int(events.starts[at]), int(events.ends[at])), inside_ns=ns)
            for at, ns in zip(places[order].tolist(), inside[order].tolist(), strict=True)
        )

    def step_at(self, moment: int) -> StepAt | None:
        """Return the step that a moment lies in, the first of several."""
        places = steps_in(self.lane.steps, start=moment, end=moment + 1).places()
        return self.step(int(places[0])) if len(places) else None

    def step(self, place: int) -> StepAt:
        """Return a step."""
        steps = self.lane.steps
        return StepAt(number=int(steps.numbers[place]), name=self._trace.names[int(steps.names[place])])

    def longest_collective(self, start: int, end: int) -> SeenCollective | None:
        """Return the collective with the longest part in [start, end); None where there is none."""
        frame = self._trace.collectives
        starts, ends = frame["start"].to_numpy(), frame["end"].to_numpy()
        inside = np.minimum(ends, end) - np.maximum(starts, start)
        return self._collective(frame, np.where(frame["lane"].to_numpy() == self._place, inside, 0))

    def collective_of(self, op: int) -> SeenCollective | None:
        """Return the collective that a communication operation is part of; None outside the measured window."""
        frame, one = self._trace.collectives, self.lane.operations[OPERATIONS[Row.COMMUNICATION]]
        wanted = {"lane": self._place, "start": one.starts[op], "end": one.ends[op], "stream": one.streams[op]}
        is_it = np.logical_and.reduce([frame[name].to_numpy() == value for name, value in wanted.items()])
        return self._collective(frame, is_it)

    def _collective(self, frame: pd.DataFrame, weights: NDArray[np.int64] | NDArray[np.bool_]) -> SeenCollective | None:
        """Return the row of the largest weight; None where none is above 0."""
        if len(frame) == 0 or not weights.max() > 0:
            return None
        row = frame.iloc[int(weights.argmax())]
        start, end = int(row["start"]), int(row["end"])
        return SeenCollective(
            operation=str(row["operation"]),
            communicator=str(row["communicator"]),
            instance=int(row["instance"]),
            start_ns=self.since_origin(start),
            duration_ns=end - start,
            ranks=int(row["ranks"]),
            hidden_ns=int(row["hidden"]),
            exposed_ns=int(row["exposed"]),
            wait_ns=_told(row["wait"]),
            transfer_ns=_told(row["transfer"]),
            late_lane=_told(row["late_lane"]),
            size_bytes=_told(row["bytes"]),
            bus_bandwidth=None if np.isnan(row["bus_bandwidth"]) else float(row["bus_bandwidth"]),
        )


def check_place(place: int, *, of: int, what: str) -> None:
    """Raise InputError where there is nothing at a place."""
    if not 0 <= place < of:
        raise InputError(f"no {what} {place}; there are {of}")


def _told(value: int) -> int | None:
    return None if value < 0 else int(value)
