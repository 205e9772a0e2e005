"""Steps that a client's own process does, in its AZ: it finds the leader by its own metadata, or asks the broker it
is told to.

The player only hands the work over (a connection that no cut touches) and is told every attempt.
"""

from collections.abc import Callable
from typing import Any

from emulator.client.client_asker import ClientAsker
from emulator.client.direct_results import Attempt, Fetched
from emulator.client.exchange import Failure
from emulator.client.fetched import FetchedRecord
from emulator.player.tasks import Order
from emulator.scenario import model as m
from protocol.machine import Now, Outbox
from protocol.messages.base import Message
from protocol.messages.workload import (
    ClientFetchRequest,
    ClientFetchResponse,
    ClientProduceRequest,
    ClientProduceResponse,
    ToldAttempt,
)


class ClientRefused(Exception):
    """The client process could not do it at all."""


def produce_order(
    asker: ClientAsker,
    out: Outbox,
    client: str,
    place: tuple[str, int],
    step: m.Produce,
    attempted: Callable[[Attempt], None],
) -> Order:
    """A produce by `client`; every attempt is told as it ends."""
    settings: dict[str, Any] = {"acks": step.acks, "retries": step.retries, "request.timeout.ms": step.timeout_ms}
    if step.idempotent:
        settings["enable.idempotence"] = True
    request = ClientProduceRequest(
        topic=place[0],
        partition=place[1],
        values=[value.encode() for value in step.values],
        broker=-1 if step.broker is None else step.broker,
        acks=step.acks,
        timeout_ms=step.timeout_ms,
        socket_timeout_ms=int(step.socket_timeout_s * 1000),
        retries=step.retries,
        settings=settings,
    )

    def order(done: Callable[[Any], None]) -> None:
        def told(now: Now, out: Outbox, attempt: ToldAttempt) -> None:
            attempted(as_attempt(attempt))

        def answered(now: Now, out: Outbox, answer: Message | Failure) -> None:
            if isinstance(answer, Failure):
                raise ClientRefused(f"{client}: {answer.error}: {answer.reason}")
            assert isinstance(answer, ClientProduceResponse), answer
            if answer.problem:
                raise ClientRefused(f"{client}: {answer.problem}")
            done(answer)

        asker.ask(out, client, request, answered, told)

    return order


def fetch_order(asker: ClientAsker, out: Outbox, client: str, place: tuple[str, int], step: m.Fetch) -> Order:
    """A fetch by `client` from the broker of the step; the outcome is a Fetched."""
    request = ClientFetchRequest(step.broker, *place, step.offset)

    def order(done: Callable[[Any], None]) -> None:
        def answered(now: Now, out: Outbox, answer: Message | Failure) -> None:
            if isinstance(answer, Failure):
                raise ClientRefused(f"{client}: {answer.error}: {answer.reason}")
            assert isinstance(answer, ClientFetchResponse), answer
            records = None
            if answer.records is not None:
                records = tuple(FetchedRecord(r.offset, r.leader_epoch, r.value) for r in answer.records)
            done(Fetched("", step.broker, answer.error, answer.high_watermark, records))

        asker.ask(out, client, request, answered)

    return order


def as_attempt(told: ToldAttempt) -> Attempt:
    value = told.value.decode("utf-8", "backslashreplace")
    return Attempt(told.operation, told.broker, value, told.acks, told.attempt, told.error, told.offset)
