"""Values derived from a run's token: the read-only token and the run's id. Pure.

Both are digests with the token as their key. So `up`, the control server and the page agree without another file, and
neither leads back to the token.
"""

import hmac
from hashlib import sha256
from typing import Final

READ_ONLY_CHARACTERS: Final = 32
RUN_ID_CHARACTERS: Final = 8


def read_only_token(token: bytes) -> bytes:
    """The token of readers: it admits GET alone."""
    return _digest(token, b"faultline read-only")[:READ_ONLY_CHARACTERS].encode()


def run_id(token: bytes) -> str:
    """A name of the cluster that no other one has, to tell two of one port apart."""
    return _digest(token, b"faultline run id")[:RUN_ID_CHARACTERS]


def _digest(token: bytes, of: bytes) -> str:
    return hmac.new(token, of, sha256).hexdigest()
