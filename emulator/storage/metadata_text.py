"""Records of the metadata log as text: kind and fields, those with defaults left out.

    Topic topic=t topic_id=...
    Voters 1000,1001,1002
"""

from typing import Any

import msgspec

from emulator.storage.files import Files
from emulator.storage.log_directory import METADATA_LOG
from protocol.records.metadata_codec import decode_metadata_record
from protocol.records.quorum_control_records import Voters, decode_control_record
from protocol.records.schema_fields import UnreadableRecord
from protocol.records.types import BatchHeader, Record

SNAPSHOT_SUFFIX = ".checkpoint"


def metadata_text(header: BatchHeader, record: Record) -> str:
    """The record as text; one that is not readable by its bytes."""
    try:
        if header.is_control:
            found: Any = decode_control_record(record.key, record.value)
        else:
            found = decode_metadata_record(record.value or b"")
    except UnreadableRecord as error:
        return f"unreadable: {error}"
    if found is None:
        return "control record of another type"
    if isinstance(found, Voters):
        return f"Voters {','.join(str(voter.id) for voter in found.voters)}"
    kind = type(found)
    defaults = dict(zip(kind.__struct_fields__[::-1], kind.__struct_defaults__[::-1], strict=False))
    fields = {name: value for name, value in msgspec.structs.asdict(found).items() if value != defaults.get(name, ...)}
    texts = [f"{name}={_text(value)}" for name, value in fields.items()]
    return " ".join((kind.__name__.removesuffix("Record"), *texts))


def _text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def snapshots_on(files: Files) -> list[str]:
    """Names of the snapshots of the metadata log, `end offset-epoch`, the earliest first.

    Raises StorageError.
    """
    names = [name for name in files.list(METADATA_LOG) if name.endswith(SNAPSHOT_SUFFIX)]
    return sorted(name.removesuffix(SNAPSHOT_SUFFIX) for name in names)
