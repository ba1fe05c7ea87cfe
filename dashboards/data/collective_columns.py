"""The frame COLLECTIVES as a file of a prepared profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from dashboards.data.columns import damaged
from gapfinder.tables import COLLECTIVES

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

_FILE = "collectives.arrow"
_TYPES = {
    "int64": pa.int64(),
    "float64": pa.float64(),
    "bool": pa.bool_(),
    "category": pa.dictionary(pa.int32(), pa.large_string()),
}
_SCHEMA = pa.schema([(column.name, _TYPES[column.dtype]) for column in COLLECTIVES.columns])


def write_collectives(collectives: pd.DataFrame, *, folder: Path) -> None:
    """Write the frame as one batch."""
    table = pa.Table.from_pandas(collectives, schema=_SCHEMA, preserve_index=False).replace_schema_metadata(None)
    with pa.ipc.new_file(str(folder / _FILE), _SCHEMA) as writer:
        writer.write_table(table.combine_chunks())


def read_collectives(folder: Path) -> pd.DataFrame:
    """Return the frame; InputError where the file is not what was written."""
    try:
        table = pa.ipc.open_file(pa.memory_map(str(folder / _FILE))).read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise damaged(_FILE) from error
    if not table.schema.equals(_SCHEMA):
        raise damaged(_FILE)
    return COLLECTIVES.frame(dict(table.to_pandas(self_destruct=True).items()))
