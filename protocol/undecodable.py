"""What decoding raises at bytes that somebody else wrote: a frame, a request's line, a file.

msgspec has an error of its own for what does not fit the type. Beside it come a string that is not UTF-8, a number out
of range, and nesting that is deeper than the interpreter goes. All of them are the writer's fault, none is ours.
"""

from typing import Final

import msgspec

UNDECODABLE: Final = (msgspec.MsgspecError, ValueError, OverflowError, RecursionError)
"""UnicodeDecodeError is a ValueError."""
REASON_CHARACTERS_MAX: Final = 200
"""An error may quote what it met, and that may be a field's name of megabytes."""


def why(error: BaseException) -> str:
    """The error in words, of a bounded length."""
    if isinstance(error, RecursionError):
        return "nested too deep"
    text = str(error)
    return text if len(text) <= REASON_CHARACTERS_MAX else text[:REASON_CHARACTERS_MAX] + " ..."
