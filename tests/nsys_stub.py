"""An nsys that is quick and does what a test wants: its traps without waiting for them."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from pathlib import Path

OPTIONS = (
    "backtrace",
    "capture-range",
    "capture-range-end",
    "cpuctxsw",
    "cuda-graph-trace",
    "duration",
    "env-var",
    "force-overwrite",
    "nvtx-capture",
    "output",
    "sample",
    "trace",
)

# What it does after the training has ended: $STUB.
_STUB = """#!{python} -I
import os, pathlib, signal, subprocess, sys, tempfile, time
here, words = pathlib.Path(__file__).parent, sys.argv[1:]
if words == ["--version"]:
    print("NVIDIA Nsight Systems version {version}-1a2b3c4d")
elif words == ["profile", "--help"]:
    print("usage: nsys profile [<args>]\\n", *(f"\\t--{{name}}=\\n" for name in {options!r}), sep="\\n")
elif words[0] == "export":
    output = next(word.partition("=")[2] for word in words if word.startswith("--output="))
    pathlib.Path(output).write_bytes((here / "database.sqlite").read_bytes())
else:
    stub = os.environ.get("STUB", "good")
    at = next(at for at, word in enumerate(words) if word.startswith("--output="))
    output, training = words[at].partition("=")[2], words[at + 1:]
    (here / "words").write_text("\\n".join(words))
    if stub == "refuses":
        sys.exit("unrecognised option")
    child = subprocess.Popen(training, start_new_session=True)
    (here / "training.pid").write_text(str(child.pid))
    code = child.wait()
    code = 128 - code if code < 0 else code
    def write(path):
        pathlib.Path(path).write_bytes(b"a report of " + os.urandom(8).hex().encode())
    stream = f"{{tempfile.gettempdir()}}/nsys-report-{{os.getpid():x}}.qdstrm"
    listed = []
    if stub == "elsewhere":
        listed = [f"{{tempfile.gettempdir()}}/nsys-report-{{os.getpid():x}}.nsys-rep"]
    elif stub == "sessions":
        listed = [f"{{output}}.{{number}}.nsys-rep" for number in (1, 2, 3)]
    elif stub == "stale":
        print(f"Generated:\\n    {{here}}/stale.nsys-rep")
    elif stub in ("stream", "half"):
        write(stream)
        print(f"Generating '{{stream}}'")
        if stub == "half":
            write(f"{{output}}.nsys-rep")
        print("The importer binary and its dependencies were not found.")
    elif stub == "silent":
        time.sleep(60)
    elif stub == "slow":
        time.sleep(2.5)
        listed = [f"{{output}}.nsys-rep"]
    elif stub == "good":
        listed = [f"{{output}}.nsys-rep"]
    for path in listed:
        write(path)
    print("Generated:", *(f"    {{path}}" for path in listed), sep="\\n")
    sys.exit(code)
"""


def nsys_stub(folder: Path, *, version: str = "2025.5.2.266", options: tuple[str, ...] = OPTIONS) -> Path:
    """An nsys in `folder`; its environment variable STUB says what it does."""
    folder.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(folder / "database.sqlite")) as database, database:
        database.execute("CREATE TABLE IF NOT EXISTS META_DATA_EXPORT (name TEXT, value TEXT)")
    program = folder / "nsys"
    program.write_text(_STUB.format(python=sys.executable, version=version, options=options))
    program.chmod(0o755)
    return program
