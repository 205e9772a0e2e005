"""Why a request was not answered, or may not begin."""

import msgspec


class Failure(msgspec.Struct, frozen=True):
    """No answer came. `error`: the exception's name; `sent`: whether the request had left (and may have been
    done).
    """

    error: str
    reason: str
    sent: bool


class TooManyExchanges(RuntimeError):
    """The owner asks for more at once than EXCHANGES_MAX (`exchange`)."""


class TooManyAsked(RuntimeError):
    """More requests at once than ASKED_MAX (`client_asker`)."""
