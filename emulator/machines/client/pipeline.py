"""Pipelining of independent operations: sent without waiting, answered together.

A ZooKeeper server takes one operation, or a multi, in a request. Callers with many independent operations (a
controller that reads the states of all partitions) put them into one request. Here it becomes a pipeline, as
Kafka's asynchronous requests are.
"""

from collections.abc import Callable

from protocol.machine import Now
from protocol.messages.session_messages import OpResult, SessionError, SessionRequest, SessionResponse
from protocol.outbox import Outbox

Done = Callable[[Now, Outbox, SessionResponse], None]
SendRequest = Callable[[SessionRequest, Done], None]


def pipelined(request: SessionRequest, ask: SendRequest, done: Done) -> None:
    """Send `request` as a pipeline; `ask` sends one request.

    `done` gets all results in order; its `error` is the first that is not OK.
    """
    if request.multi or len(request.ops) <= 1:
        ask(request, done)
        return
    results: dict[int, OpResult] = {}
    zxids: list[int] = []

    def answered(index: int) -> Done:
        def one(now: Now, out: Outbox, response: SessionResponse) -> None:
            results[index] = response.results[0] if response.results else OpResult(response.error)
            zxids.append(response.zxid)
            if len(results) == len(request.ops):
                ordered = [results[i] for i in range(len(request.ops))]
                expired = any(r.error == SessionError.SESSION_EXPIRED for r in ordered)
                first = next((r.error for r in ordered if r.error != SessionError.OK), SessionError.OK)
                error = SessionError.SESSION_EXPIRED if expired else first
                done(now, out, SessionResponse(ordered, error, max(zxids)))

        return one

    for index, operation in enumerate(request.ops):
        ask(SessionRequest([operation]), answered(index))
