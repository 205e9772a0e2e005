"""Exceptions, one class for each kind of failure. Messages name the nearest valid thing."""


class FaultlineError(Exception):
    """Base of all exceptions of faultline."""


class NotStarted(FaultlineError):
    """The cluster did not become ready; no process is left running."""


class Refused(FaultlineError):
    """The request cannot be carried out. `unknown`: it timed out, and may still take effect."""

    def __init__(self, why: str, *, unknown: bool = False) -> None:
        super().__init__(why)
        self.unknown = unknown
