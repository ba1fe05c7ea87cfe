"""Where the store keeps what: the folders of one store, and how its own folder is found."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from gapfinder.errors import InputError, visible

_OWNER_ONLY = 0o700
_MADE_BY_FILE_SYSTEMS = "lost+found"


@dataclass(frozen=True, slots=True)
class Places:
    """The parts of a store's folder.

    Attributes:
        database: what there is; a file or folder that no row speaks of is a leftover.
        incoming: one file for each upload under way, called by its id.
        files: one folder for each uploaded profile.
        prepared: one folder for each prepared profile.
        scratch: one folder for each job under way.
        locks: one file for each job under way, held by its worker as long as that lives.
        history: runs made of prepared profiles, as `gapfinder history` keeps them.
        trash: what was removed, until it is gone.
    """

    folder: Path

    @property
    def database(self) -> Path:
        """The SQLite file."""
        return self.folder / "dashboard.db"

    @property
    def history(self) -> Path:
        """The history of what was prepared."""
        return self.folder / "history.db"

    @property
    def incoming(self) -> Path:
        """Uploads under way."""
        return self.folder / "incoming"

    @property
    def files(self) -> Path:
        """Uploaded files."""
        return self.folder / "files"

    @property
    def prepared(self) -> Path:
        """Prepared profiles."""
        return self.folder / "prepared"

    @property
    def scratch(self) -> Path:
        """Jobs under way."""
        return self.folder / "scratch"

    @property
    def locks(self) -> Path:
        """Locks of workers."""
        return self.folder / "locks"

    @property
    def trash(self) -> Path:
        """What was removed."""
        return self.folder / "trash"

    def make(self) -> None:
        """Make the folders for their owner alone; InputError where that cannot be done, or they are somebody else's."""
        try:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            self.folder.mkdir(mode=_OWNER_ONLY, exist_ok=True)
            owner = self.folder.stat().st_uid
            if owner == os.geteuid():
                self._check_contents()
                self.folder.chmod(_OWNER_ONLY)
                for folder in self._parts:
                    folder.mkdir(mode=_OWNER_ONLY, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"cannot use the dashboard's folder {self.folder}: {error.strerror}; name another one with --store"
            ) from error
        if owner != os.geteuid():
            raise InputError(f"the dashboard's folder {self.folder} belongs to somebody else; name one with --store")

    @property
    def _parts(self) -> tuple[Path, ...]:
        return (self.incoming, self.files, self.prepared, self.scratch, self.locks, self.trash)

    def _check_contents(self) -> None:
        """Refuse a folder that has been used for something else, before its mode is changed."""
        ours = {_MADE_BY_FILE_SYSTEMS, *(part.name for part in self._parts)}
        other = next((entry.name for entry in self.folder.iterdir() if entry.name not in ours), None)
        if other is not None and not self.database.exists():
            raise InputError(
                f"{self.folder} is no folder of a dashboard: {visible(other)} is in it; name a new one with --store"
            )

    def discard(self, path: Path) -> None:
        """Take a file or folder out of its place at once; `empty_trash` then takes the time to delete it."""
        if os.path.lexists(path):
            path.rename(self.trash / os.urandom(8).hex())

    def delete(self, *paths: Path) -> None:
        """Delete files and folders of which no row speaks any more; InputError where that cannot be done."""
        try:
            for path in paths:
                self.discard(path)
            self.empty_trash()
        except OSError as error:
            raise InputError(f"the dashboard cannot write to its folder: {error.strerror}") from error

    def empty_trash(self) -> None:
        """Delete what was removed; what another server deletes meanwhile is no error."""
        for entry in self.trash.iterdir():
            if entry.is_dir():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)


def default_folder() -> Path:
    """Return gapfinder/dashboard in the user's data folder ($XDG_DATA_HOME, else ~/.local/share)."""
    base = os.environ.get("XDG_DATA_HOME", "")
    data = Path(base) if Path(base).is_absolute() else Path.home() / ".local" / "share"
    return data / "gapfinder" / "dashboard"
