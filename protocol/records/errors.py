"""What can be wrong with stored or received records: one class per thing, each naming its byte position.

Two families, because recovery treats them differently from validation (docs/semantics.md 3): a
`TruncatedRecord` is a batch whose last bytes have not arrived (being written, or torn by a crash); a
`CorruptRecord` can never become right by adding bytes. Both are faults of the world, not of ours.
"""


class RecordsError(ValueError):
    """Bytes that are not whole, right records: a ValueError, as what Python's own decoders raise.

    `position` is the byte where the damaged batch starts, `reason` says what is wrong with it.
    """

    def __init__(self, position: int, reason: str) -> None:
        super().__init__(f"at byte {position}: {reason}")
        self.position = position
        self.reason = reason


class TruncatedRecord(RecordsError):
    """The data ends inside the batch that starts at `position`."""


class CorruptRecord(RecordsError):
    """The batch at `position` is damaged; the subclasses say how (Kafka's error 2, CORRUPT_MESSAGE)."""


class UnknownMagic(CorruptRecord):
    """The magic byte names no format known here (0 and 1: message sets, 2: batches)."""


class BadLength(CorruptRecord):
    """A length, size or variable-length integer contradicts the bytes around it."""


class BadCrc(CorruptRecord):
    """The stored checksum is not that of the bytes."""


class CountMismatch(CorruptRecord):
    """The header promises another number of records than there are."""


class BadCompression(CorruptRecord):
    """An unknown or forbidden codec, or data its codec cannot read."""


class TooLarge(CorruptRecord):
    """A batch above `BATCH_BYTES_MAX`, or one that decompresses to more than `DECOMPRESSED_BYTES_MAX`."""
