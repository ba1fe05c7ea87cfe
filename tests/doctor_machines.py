"""Machines for the doctor's tests: all that checks ask of them is recorded or written here."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from gapfinder.capture.nsys import Nsys
from gapfinder.doctor.check import Check, NotCheckedError
from gapfinder.doctor.examine import examine
from gapfinder.doctor.machine import Limit, Machine, Space
from gapfinder.doctor.programs import Ran
from gapfinder.errors import NsysError

RECORDED = Path(__file__).parent / "doctor" / "recorded"
SMI = ("nvidia-smi", "-q", "-x")
TOPOLOGY = ("nvidia-smi", "topo", "-m")
NVLINK = ("nvidia-smi", "nvlink", "-s")
CLOCK = ("timedatectl", "show", "--property=NTPSynchronized", "--value")
TORCH = {
    "python": "/envs/training/bin/python",
    "version": "2.7.0+cu128",
    "cuda": "12.8",
    "is_available": True,
    "devices": 4,
    "problem": "",
    "nccl": [2, 26, 2],
    "nccl_loaded": [2, 26, 2],
}
ROOMY = Space(total_bytes=4 * 10**12, free_bytes=2 * 10**12, inodes=10**9, free_inodes=9 * 10**8, is_writable=True)
FILES = {
    "/proc/self/status": "Name:\tpython\nCapEff:\t000001ffffffffff\nSeccomp:\t0\n",
    "/proc/self/cgroup": "0::/job\n",
    "/proc/sys/kernel/perf_event_paranoid": "2\n",
    "/sys/devices/system/cpu/online": "0-191\n",
    "/sys/class/net/ens1f0np0/operstate": "up\n",
    "/sys/class/net/ens1f0np0/speed": "100000\n",
    "/sys/class/net/ens1f0np0/device/vendor": "0x15b3\n",
    "/sys/class/net/ens1f0np0/device/device": "0x101d\n",
    "/sys/class/net/ens1f0np0/statistics/rx_crc_errors": "0\n",
    "/sys/class/net/docker0/operstate": "up\n",
    "/sys/class/net/docker0/speed": "10\n",
    "/sys/class/net/lo/operstate": "unknown\n",
    "/etc/hosts": "127.0.0.1 localhost\n::1 localhost ip6-localhost\n10.0.0.1 node0  # first\n10.0.0.2 node1\n",
} | {
    f"/sys/class/infiniband/{card}/{name}": text
    for card in ("mlx5_0", "mlx5_1")
    for name, text in {
        "board_id": "MT_0000000838\n",
        "ports/1/state": "4: ACTIVE\n",
        "ports/1/link_layer": "InfiniBand\n",
        "ports/1/rate": "400 Gb/sec (4X NDR)\n",
        "ports/1/counters/link_downed": "0\n",
        "ports/1/counters/symbol_error": "0\n",
    }.items()
}


def recorded(name: str) -> str:
    return (RECORDED / name).read_text(encoding="utf-8")


def said(output: str) -> Ran:
    return Ran(code=0, output=output, errors="")


PROGRAMS: Mapping[tuple[str, ...], Ran] = {
    SMI: said(recorded("h100x4_driver_570.xml")),
    TOPOLOGY: said(recorded("h100x4_topology.txt")),
    NVLINK: said(recorded("h100x4_nvlink.txt")),
    CLOCK: said("yes\n"),
    ("ethtool", "ens1f0np0"): said(recorded("ethtool_100g_at_25g.txt")),
    ("ask_torch.py",): said(json.dumps(TORCH) + "\n"),
}
A100 = {
    SMI: said(recorded("a100x4_driver_525.xml")),
    TOPOLOGY: said(recorded("a100x4_topology_old.txt")),
    NVLINK: said(recorded("a100x4_nvlink.txt")),
}


def lost(*_: object) -> Nsys:
    raise NsysError("nsys not found on PATH")


class Recorded:
    """Programs that say what was recorded; the others are missing, and what is an error is raised."""

    def __init__(self, programs: Mapping[tuple[str, ...], Ran | NotCheckedError]) -> None:
        self.programs = programs

    def __call__(self, command: tuple[str, ...], seconds: float) -> Ran:
        assert 0 < seconds <= 90
        key = ("ask_torch.py",) if command[-1].endswith("ask_torch.py") else command
        answer = self.programs.get(key, NotCheckedError(f"{command[0]} not found"))
        if isinstance(answer, NotCheckedError):
            raise answer
        return answer


def machine(
    root: Path,
    *,
    files: Mapping[str, str | None] | None = None,
    programs: Mapping[tuple[str, ...], Ran | NotCheckedError] | None = None,
    spaces: Mapping[str, Space | OSError] | None = None,
    addresses: Mapping[str, tuple[str, ...]] | None = None,
    **changes: object,
) -> Machine:
    """A machine with four H100 on which all is well, but for what is given; a file that is None is missing."""
    for path, text in (FILES | dict(files or {})).items():
        if text is not None:
            place = root / path.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(text.encode("utf-8", errors="surrogateescape"))
    known = {"node0": ("10.0.0.1",), "localhost": ("127.0.0.1",)} | dict(addresses or {})

    def space(folder: Path) -> Space:
        found = (spaces or {}).get(str(folder), ROOMY)
        if isinstance(found, OSError):
            raise found
        return found

    whole = Machine(
        root=root,
        output=Path("/data/runs"),
        environment={"MASTER_ADDR": "node0", "MASTER_PORT": "29500", "OMP_NUM_THREADS": "8"},
        host_name="node0",
        cpus=frozenset(range(192)),
        open_files=Limit(soft=1_048_576, hard=1_048_576),
        locked_memory=Limit(soft=None, hard=None),
        run=Recorded({**PROGRAMS, **(programs or {})}),
        space=space,
        addresses=lambda host: known.get(host, ()),
        find_nsys=lambda: Nsys(path=_whole_nsys(root), version="2025.1.3.140"),
    )
    return replace(whole, **changes)


def _whole_nsys(root: Path) -> Path:
    folder = root / "opt" / "nsys"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("nsys", "QdstrmImporter"):
        (folder / name).touch(mode=0o755)
    return folder / "nsys"


def checks(asked: Machine, **options: object) -> dict[str, Check]:
    return {check.code: check for check in examine(asked, **options)}


def check(asked: Machine, code: str, **options: object) -> Check:
    """The check of this code; those after it are not made."""
    return next(check for check in examine(asked, **options) if check.code == code)


def edited(xml: str, *, gpu: int, **tags: str) -> str:
    """What nvidia-smi says when one GPU differs in the first of each of these tags."""
    parts = re.split(r"(?=\t<gpu id)", xml)
    for tag, text in tags.items():
        old, count = re.subn(rf"<{tag}>[^<]*</{tag}>", f"<{tag}>{text}</{tag}>", parts[gpu + 1], count=1)
        assert count == 1, f"no <{tag}>"
        parts[gpu + 1] = old
    return "".join(parts)
