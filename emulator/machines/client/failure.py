"""Failures of requests: no response, or too many at once."""

import msgspec


class Failure(msgspec.Struct, frozen=True):
    """No response came. `error`: the exception's name.

    `sent`: whether the request had left (and may have been executed).
    """

    error: str
    reason: str
    sent: bool


class TooManyExchanges(RuntimeError):
    """More exchanges of one owner at once than EXCHANGES_MAX (`exchange`)."""


class TooManyClientRequests(RuntimeError):
    """More requests at once than REQUESTS_MAX (`client_asker`)."""
