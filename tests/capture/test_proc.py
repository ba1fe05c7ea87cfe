"""Which process is the training, told from what nsys starts for itself."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

from gapfinder.capture.proc import training_process


def test_what_nsys_forks_is_no_training_before_it_has_a_name_of_its_own(tmp_path):
    # until then it has the name of one of nsys's threads, and nsys's program
    sleep = shutil.which("sleep")
    assert sleep is not None
    shutil.copy(Path(sleep).resolve(), tmp_path / "nsys")
    (tmp_path / "*2Worker").symlink_to(tmp_path / "nsys")
    with subprocess.Popen(("sh", "-c", f"'{tmp_path}/*2Worker' 60 & echo $!; wait"), stdout=subprocess.PIPE) as nsys:
        assert nsys.stdout is not None
        worker = int(nsys.stdout.readline())
        while not Path(f"/proc/{worker}/stat").read_text().startswith(f"{worker} (*2Worker)"):
            time.sleep(0.01)
        assert training_process(nsys.pid) is None
        subprocess.run(("kill", str(worker)), check=True)
