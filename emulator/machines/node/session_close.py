"""End of an orderly stop: the session's close, which is waited for, and the process's exit.

    all other parts are shut down -> CloseSession -> the server's response, or its silence -> exit

ZooKeeper.close waits for the response without a limit of its own, and so does Kafka (ZkUtils.close,
KafkaZkClient.close). A process that ended without the response might leave its session behind, and its ephemerals.
The wait ends all the same: a client that is closing tries no other server (ClientCnxn.SendThread), so the silence
of its server ends it.
"""

from typing import Final

from emulator.machines.client.retrying_session import RetryingSession
from protocol.kinds import ExitKind
from protocol.machine import Exit, Now
from protocol.outbox import Outbox

SESSION: Final = "session"
"""Prefix of the keys of the session client's timers."""
OVER: Final = ("closed", "expired")


class Departure:
    """Departure of one process, once."""

    def __init__(self, session: RetryingSession) -> None:
        self._session = session
        self._exit: Exit | None = None

    @property
    def begun(self) -> bool:
        """Whether only the session client's inputs still have an effect."""
        return self._exit is not None

    def begin(self, now: Now, out: Outbox, code: int, reason: str, kind: ExitKind) -> None:
        """Begin: drop all but the session, and close that."""
        assert self._exit is None, "a process ends once"
        self._exit = Exit(code, reason, kind)
        client = self._session.client
        self._session.abandon()
        out.keep_only(client.connection, SESSION)
        if client.state in OVER:
            out.exit(code, reason, kind)
        else:
            client.close(now, out)

    def session_state(self, out: Outbox, state: str) -> None:
        """Exit if the session of a departing node has ended."""
        if self._exit is not None and state in OVER:
            out.exit(self._exit.code, self._exit.reason, self._exit.kind)
