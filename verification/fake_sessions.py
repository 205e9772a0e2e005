"""The session service as a broker sees it: a dictionary that can be put out of reach."""

from emulator.machines.broker.broker_context import SessionDone
from protocol.machine import Now
from protocol.messages.session_messages import (
    Create,
    GetChildren,
    GetData,
    Operation,
    OpResult,
    SessionError,
    SessionRequest,
    SessionResponse,
    SetData,
)
from protocol.outbox import Outbox


class FakeSessions:
    """`znodes`: path -> (data, version). Out of reach, calls wait in `waiting`."""

    def __init__(self) -> None:
        self.znodes: dict[str, tuple[bytes, int]] = {}
        self.asked: list[Operation] = []
        self.reachable = True
        self.waiting: list[tuple[SessionRequest, SessionDone]] = []
        self.created: list[tuple[str, bytes]] = []

    def call(self, now: Now, out: Outbox, request: SessionRequest, done: SessionDone) -> None:
        self.asked += request.ops
        if self.reachable:
            done(now, out, self.answer(request))
        else:
            self.waiting.append((request, done))

    def answer(self, request: SessionRequest) -> SessionResponse:
        results = [self._do(op) for op in request.ops]
        return SessionResponse(results, next((r.error for r in results if r.error), 0))

    def _do(self, op: Operation) -> OpResult:
        if isinstance(op, Create):
            self.created.append((op.path, op.data))
            return OpResult(path=op.path)
        if isinstance(op, GetChildren):
            below = [path.removeprefix(f"{op.path}/") for path in self.znodes if path.startswith(f"{op.path}/")]
            return OpResult(path=op.path, children=sorted(below))
        held = self.znodes.get(op.path)
        if held is None:
            return OpResult(SessionError.NO_NODE, op.path)
        data, version = held
        if isinstance(op, GetData):
            return OpResult(0, op.path, data, version)
        assert isinstance(op, SetData), op
        if op.version not in (-1, version):
            return OpResult(SessionError.BAD_VERSION, op.path)
        self.znodes[op.path] = (op.data, version + 1)
        return OpResult(0, op.path, b"", version + 1)
