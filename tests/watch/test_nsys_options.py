"""Which words an idle session of nsys is given, and when."""

from __future__ import annotations

from pathlib import Path

import pytest

from gapfinder.capture.nsys import Nsys
from gapfinder.errors import InputError, NsysError
from gapfinder.watch.nsys_options import session_options

HELP = {
    "launch": "\t--session-new=\n\t-t, --trace=\n\t--cuda-graph-trace=\n\t(Deprecated) --cpuctxsw=\n",
    "start": "\t--session=\n\t-s, --sample=\n\t--cpuctxsw=\n\t-o, --output=\n\t--gpu-metrics-device=\n",
}


@pytest.fixture
def nsys(tmp_path) -> Nsys:
    """An nsys that knows what HELP lists."""
    path = tmp_path / "nsys"
    cases = "\n".join(f"{name}) cat <<'END'\n{text}END\n;;" for name, text in HELP.items())
    path.write_text(f"#!/bin/sh\ncase $1 in\n{cases}\nesac\n")
    path.chmod(0o755)
    return Nsys(path=path, version="2022.4.2.1")


def test_defaults_stand_where_this_nsys_knows_them(nsys):
    options = session_options(nsys, nsys_args=())
    assert options.launch == ("--trace=cuda,nvtx", "--cuda-graph-trace=node")
    assert options.start == ("--sample=none", "--cpuctxsw=none")


def test_what_the_user_gives_goes_where_it_is_known_and_wins(nsys):
    options = session_options(
        nsys, nsys_args=("-t", "nvtx,osrt", "--gpu-metrics-device", "all", "--cpuctxsw=system-wide")
    )
    assert options.launch == ("--cuda-graph-trace=node", "-t", "nvtx,osrt")
    assert options.start == ("--sample=none", "--gpu-metrics-device", "all", "--cpuctxsw=system-wide")


@pytest.mark.parametrize("word", ["--output=x", "-o", "--session=other", "--capture-range=nvtx", "-f"])
def test_what_the_watch_sets_itself_is_refused(nsys, word):
    with pytest.raises(InputError, match="must not set"):
        session_options(nsys, nsys_args=(word,))


def test_what_nsys_does_not_know_is_refused(nsys):
    with pytest.raises(InputError, match="knows no option --colour"):
        session_options(nsys, nsys_args=("--colour=blue",))


def test_an_nsys_without_sessions_is_an_error(tmp_path):
    with pytest.raises(NsysError):
        session_options(Nsys(path=Path("/bin/true"), version="2019.1.1"), nsys_args=())
