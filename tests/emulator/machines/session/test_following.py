"""A follower's session reports to its leader (semantics 5.2)."""

from emulator.machines.session.following import Following
from emulator.machines.session.quorum import Limits, Replica
from emulator.machines.session.transaction_history import History
from emulator.machines.session.znode import Change
from emulator.storage.memory_files import MemoryFiles
from protocol.machine import MessageReceived, Now, Send
from protocol.messages import ensemble as m
from protocol.messages.session_messages import SessionResponse
from protocol.outbox import Outbox

NOW = Now(0.0, 0.0)
FIRST = 1 << 32


class QuietHost:
    """A server without client requests."""

    def applied(
        self, now: Now, out: Outbox, transaction: m.Transaction, response: SessionResponse, changes: list[Change]
    ) -> None: ...

    def restored(self, now: Now, out: Outbox, before: object) -> None: ...

    def serving_changed(self, now: Now, out: Outbox, serving: bool) -> None: ...

    def revalidated(self, now: Now, out: Outbox, request: int, valid: bool) -> None: ...

    def caught_up(self, now: Now, out: Outbox, request: int) -> None: ...


def opened(number: int) -> m.Transaction:
    return m.Transaction(FIRST + number, "open", timeout_ms=3000, owner=f"broker-{number}")


def test_sessions_new_to_it_when_it_rejoins_count_as_touched_and_others_do_not() -> None:
    history = History(MemoryFiles())
    history.append([opened(1)])
    following = Following("session-1", Limits(500, 5000.0, 2000.0), Replica(history, QuietHost()), QuietHost())
    out = Outbox()
    following.start(NOW, out)
    closed = m.Transaction(FIRST + 4, "close", FIRST + 3, reason="expired")
    assert out.route(NOW, MessageReceived(1, 0, 0, m.History("diff", transactions=[opened(2), opened(3), closed])))
    assert out.route(NOW, MessageReceived(1, 0, 0, m.UpToDate(FIRST + 4)))
    out.take()
    assert out.route(NOW, MessageReceived(1, 0, 0, m.LeaderPing()))
    pongs = [effect.message for effect in out.take() if isinstance(effect, Send)]
    assert pongs == [m.LearnerPong([FIRST + 2])]
    assert out.route(NOW, MessageReceived(1, 0, 0, m.LeaderPing()))
    assert [effect.message for effect in out.take() if isinstance(effect, Send)] == [m.LearnerPong([])]
