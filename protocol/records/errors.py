"""Damage of stored or received records: one class per kind, each with its byte position.

Two families, because recovery treats them differently from validation (docs/semantics.md 3): a
`TruncatedRecord` is a batch whose last bytes have not arrived (being written, or torn by a crash); a
`CorruptRecord` can never become right by adding bytes. Both are faults of the world, not of ours.
"""


class RecordsError(ValueError):
    """Bytes that are not whole, right records: a ValueError, like those of Python's decoders.

    `position` is the byte where the damaged batch starts, `reason` describes the damage.
    """

    def __init__(self, position: int, reason: str) -> None:
        super().__init__(f"at byte {position}: {reason}")
        self.position = position
        self.reason = reason


class TruncatedRecord(RecordsError):
    """The data ends inside the batch that starts at `position`."""


class CorruptRecord(RecordsError):
    """The batch at `position` is damaged (Kafka's error 2, CORRUPT_MESSAGE); see the subclasses."""


class UnknownMagic(CorruptRecord):
    """The magic byte names no format known here (0 and 1: message sets, 2: batches)."""


class BadLength(CorruptRecord):
    """A length, size or variable-length integer contradicts the bytes around it."""


class BadCrc(CorruptRecord):
    """The stored checksum is not that of the bytes."""


class CountMismatch(CorruptRecord):
    """The header has another number of records than there are."""


class BadCompression(CorruptRecord):
    """An unknown or forbidden codec, or data its codec cannot read."""


class TooLarge(CorruptRecord):
    """A batch above `BATCH_BYTES_MAX`, or above `DECOMPRESSED_BYTES_MAX` when decompressed."""
