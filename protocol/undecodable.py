"""Exceptions of decoding untrusted bytes: a frame, a request's line, a file.

msgspec has its own error for data of the wrong type. Others are a string that is not UTF-8, a number out of range, and
nesting beyond the interpreter's limit. All of them are the writer's fault, none is ours.
"""

from typing import Final

import msgspec

UNDECODABLE: Final = (msgspec.MsgspecError, ValueError, OverflowError, RecursionError)
"""Exceptions to catch; UnicodeDecodeError is a ValueError."""
REASON_CHARACTERS_MAX: Final = 200
"""Maximum characters of a reason: an error may quote a field's name of megabytes."""


def why(error: BaseException) -> str:
    """The error's text, of a bounded length."""
    if isinstance(error, RecursionError):
        return "nested too deep"
    text = str(error)
    return text if len(text) <= REASON_CHARACTERS_MAX else text[:REASON_CHARACTERS_MAX] + " ..."
