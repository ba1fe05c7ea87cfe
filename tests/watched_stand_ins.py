"""Watches in this process: a stand-in for nsys that delivers given exports, and a training that is step times alone."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from watched_trainings import surroundings

from gapfinder.capture.nsys import find_nsys
from gapfinder.watch import capturing, rank_levels, supervise
from gapfinder.watch.nsys_options import session_options
from gapfinder.watch.policy import CapturePolicy
from gapfinder.watch.rules import Rules
from gapfinder.watch.supervise import WatchRequest, watch_training

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pytest

    from gapfinder.watch.examine import Task
    from gapfinder.watch.supervise import Watched

# The report of capture N names the export that it is turned into; `export` is what else happens then.
_NSYS = """#!/bin/sh
here='{folder}'
case "$1 $2" in
--version*) echo "NVIDIA Nsight Systems version 2022.4.2.1-x"; exit;;
"launch --help") printf '\\t--session-new=\\n\\t--trace=\\n'; exit;;
"start --help") printf '\\t--session=\\n\\t--sample=\\n'; exit;;
esac
command=$1
shift
for word; do
    case $word in --output=*) output=${{word#--output=}};; esac
    last=$word
done
case $command in
launch) while [ "${{1#-}}" != "$1" ]; do shift; done; exec "$@";;
start) echo "$output" >> "$here/started";;
stop) cp "$here/$(grep -c . "$here/started").export" "$(tail -n 1 "$here/started")";;
export) {export}
esac
"""
# It trains until the file `end` is there; then it ends with code 7. Steps take 2 ms, and 6 ms once the file `slow` is
# there: exactly, however busy the machine is, as it tells when they should have ended.
_TRAINING = """
import sys, time
from pathlib import Path
from _gapfinder_hook.place import Place
from _gapfinder_hook.step_stream import COUNT_WORD, StepStream
place = Path(sys.argv[1])
ended = time.monotonic_ns()
stream = StepStream(sys.argv[2], place=Place(0, 1, 0, is_final=False), now_ns=ended)
step = 0
while not (place / "end").exists():
    begun, ended = ended, ended + (6_000_000 if (place / "slow").exists() else 2_000_000)
    time.sleep(max(0, ended - time.monotonic_ns()) / 1e9)
    step += 1
    stream.times += (ended, begun)
    stream.words[COUNT_WORD] = step
    stream.write()
sys.exit(7)
"""
COPY = 'cp "$last" "$output"'


@dataclass(kw_only=True)
class Stage:
    """A place for one watch.

    Attributes:
        reports: the export of the first capture, of the second, and so on.
        export: what `nsys export` does, in sh, from the file "$last" to "$output".
        training: the command line of another training than the one of step times alone.
        on: which file is made when a sentence is told that begins like this.
        told: every sentence.
    """

    place: Path
    reports: Sequence[Path]
    export: str = COPY
    training: tuple[str, ...] = ()
    on: dict[str, str] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)

    def watch(
        self, *, rules: Rules, policy: CapturePolicy | None = None, steps: int = 5, keeps_history: bool = False
    ) -> Watched:
        """Run the training to its end."""
        nsys = self._nsys()
        (self.place / "train.py").write_text(_TRAINING)
        times = (sys.executable, str(self.place / "train.py"), str(self.place), str(self.place / "out" / "steps"))
        request = WatchRequest(
            training=self.training or times,
            name="train",
            rules=rules,
            policy=policy or CapturePolicy(cool_down_ns=1_000_000),
            capture_steps=steps,
            options=session_options(nsys, nsys_args=()),
            keeps_history=keeps_history,
        )
        return watch_training(request, nsys=nsys, output=self.place / "out", tell=self._tell)

    def _nsys(self):
        program = self.place / "nsys"
        program.write_text(_NSYS.format(folder=self.place, export=self.export))
        program.chmod(0o755)
        for number, report in enumerate(self.reports, start=1):
            (self.place / f"{number}.export").write_bytes(report.read_bytes())
        return find_nsys(str(program))

    def _tell(self, sentence: str) -> None:
        self.told.append(sentence)
        for beginning, name in self.on.items():
            if sentence.startswith(beginning):
                (self.place / name).touch()


_EXAMINING = """
import sys
from gapfinder.watch import examine
examine._step_back = lambda: None
examine.main(sys.argv[1])
"""


def examining(task: Task, *, log: Path) -> subprocess.Popen[bytes]:
    """The process that examines a capture, without stepping back behind whatever else this machine does."""
    words = [sys.executable, "-c", _EXAMINING, json.dumps(asdict(task))]
    with log.open("ab") as file:
        return subprocess.Popen(words, env=surroundings(), stderr=file, start_new_session=True)


def make_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a watch look often, and judge by little time."""
    monkeypatch.setattr(supervise, "_LOOK_S", 0.02)
    monkeypatch.setattr(capturing, "start_examining", examining)
    monkeypatch.setattr(rank_levels, "_GATHER_NS", 20_000_000)
