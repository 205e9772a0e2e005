"""What goes wrong, one class each; the message is one line that names the nearest valid thing."""


class FaultlineError(Exception):
    """Base of all."""


class NotStarted(FaultlineError):
    """The cluster did not get ready; nothing is left running."""


class Refused(FaultlineError):
    """What was asked for cannot be done. `unknown`: it may still come to pass, for it had not ended in time."""

    def __init__(self, why: str, *, unknown: bool = False) -> None:
        super().__init__(why)
        self.unknown = unknown
