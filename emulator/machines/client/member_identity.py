"""Identity with which a member of a group commits."""

import msgspec

from protocol.messages.membership import NO_GENERATION


class Identity(msgspec.Struct, frozen=True):
    """Generation and ids with which a member commits."""

    generation: int = NO_GENERATION
    member: str = ""
    instance: str | None = None


NO_MEMBER = Identity()
"""Identity of a client that is no member."""
