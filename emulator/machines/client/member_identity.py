"""As whom a member of a group commits."""

import msgspec

from protocol.messages.membership import NO_GENERATION


class Identity(msgspec.Struct, frozen=True):
    """As whom a member commits."""

    generation: int = NO_GENERATION
    member: str = ""
    instance: str | None = None


NOBODY = Identity()
"""Whoever was given its partitions."""
