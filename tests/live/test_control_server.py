"""The control server: admission, limits of input, and no client delays another."""

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
import trio
import trio.testing

from emulator.cluster import control_context
from emulator.cluster import control_requests as r
from emulator.cluster import control_server as d
from emulator.cluster.cluster_registry import Registration
from emulator.cluster.control_client import ask
from emulator.faults.link_words import parse
from emulator.identity import mine
from protocol.ids import BrokerId, Offset
from tests.ids import brokers
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.trio

TOKEN = "0123456789abcdef"


async def echo(requested: r.AnyAsk, wait_s: float) -> r.Answer:
    return r.Answer(result={"asked": type(requested).__name__})


@asynccontextmanager
async def served_here(answer: control_context.Answering = echo) -> AsyncIterator[tuple[d.ControlServer, int]]:
    async with trio.open_nursery() as nursery:
        served = d.ControlServer(TOKEN, answer)
        port: int = await nursery.start(served.serve)
        yield served, port
        nursery.cancel_scope.cancel()


class Asker:
    def __init__(self, stream: trio.SocketStream) -> None:
        self.stream = stream
        self._waiting = b""

    async def say(self, data: bytes) -> None:
        await self.stream.send_all(data)

    async def hear(self) -> r.Answer | None:
        """None: the connection was closed."""
        with trio.fail_after(PATIENCE_S):
            while b"\n" not in self._waiting:
                try:
                    data = await self.stream.receive_some(65536)
                except trio.BrokenResourceError:
                    data = b""
                if not data:
                    return None
                self._waiting += data
        line, _, self._waiting = self._waiting.partition(b"\n")
        return r.decode_answer(line)


@asynccontextmanager
async def asker(port: int) -> AsyncIterator[Asker]:
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        yield Asker(stream)


def with_token(rest: bytes) -> bytes:
    return b'{"token":"' + TOKEN.encode() + b'",' + rest + b"}\n"


def line(requested: r.Ask, token: str = TOKEN) -> bytes:
    return r.encode_request(token, requested, 1.0)


async def test_it_listens_on_loopback_alone_and_answers_line_by_line() -> None:
    async with served_here() as (_, port), asker(port) as one:
        with socket.socket() as sock:
            assert sock.connect_ex(("127.0.0.2", port)) != 0
        await one.say(line(r.Status()) + line(r.Heal(["az-0"])))
        first, second = await one.hear(), await one.hear()
        assert first is not None and second is not None
        assert (first.result, second.result) == ({"asked": "Status"}, {"asked": "Heal"})


async def test_a_wrong_token_is_refused_before_its_request_is_looked_at() -> None:
    requested: list[Any] = []

    async def answer(what: r.AnyAsk, wait_s: float) -> r.Answer:
        requested.append(what)
        return r.Answer()

    async with served_here(answer) as (_, port), asker(port) as one:
        await one.say(line(r.Down(), token="f" * 16))
        refused = await one.hear()
        assert refused is not None and (refused.code, refused.error) == (2, "not this run's token")
        assert await one.hear() is None and not requested


@pytest.mark.parametrize(
    ("output", "error"),
    [
        (b"cut az-0\n", "not a request"),
        (b"\xff\xfe\n", "not a request"),
        (b"{}\n", "token"),
        (with_token(b'"ask":{"ask":"format-disk"}'), "format-disk"),
        (with_token(b'"ask":{"ask":"machine","fault":"melt","node":"broker-0"}'), "melt"),
        (with_token(b'"ask":{"ask":"status"},"wait_s":1e9'), "wait_s"),
        (with_token(b'"ask":{"ask":"heal","words":' + b"[" * 500 + b"]" * 500 + b"}"), "words"),
        (with_token(b'"ask":{"ask":"heal","words":' + b"[" * 20_000), "nested too deep"),
        (with_token(b'"ask":{"ask":"machine","fault":"kill","node":"\xff"}'), "utf-8"),
        (b'{"ask":{"ask":"status"},"token":"' + TOKEN.encode() + b'"}\n', "a line begins with"),
    ],
)
async def test_what_is_no_request_is_one_line_of_error_and_the_last(output: bytes, error: str) -> None:
    async with served_here() as (_, port):
        async with asker(port) as one:
            await one.say(output + line(r.Status()))
            refused = await one.hear()
            assert refused is not None and refused.code == 2 and error in refused.error
            assert await one.hear() is None
        async with asker(port) as another:
            await another.say(line(r.Status()))
            assert (await another.hear()) == r.Answer(result={"asked": "Status"})


async def test_what_cannot_be_done_is_refused_and_the_next_line_is_answered() -> None:
    async def answer(what: r.AnyAsk, wait_s: float) -> r.Answer:
        if isinstance(what, r.Heal):
            raise r.Refused("no such rule")
        return r.Answer()

    async with served_here(answer) as (_, port), asker(port) as one:
        await one.say(line(r.Heal()) + line(r.Status()))
        assert (await one.hear()) == r.Answer(2, "no such rule") and (await one.hear()) == r.Answer()


async def test_a_line_without_an_end_is_given_up_at_its_bound() -> None:
    async with served_here() as (_, port), asker(port) as one:
        await one.say(b"{" + b"x" * (r.LINE_BYTES_MAX + 1))
        refused = await one.hear()
        assert refused is not None and refused.code == 2 and str(r.LINE_BYTES_MAX) in refused.error
        assert await one.hear() is None


async def test_clients_beyond_the_bound_are_refused_and_those_within_are_answered() -> None:
    async with served_here() as (served, port), trio.open_nursery() as nursery:
        inside: list[Asker] = []

        async def come() -> None:
            async with asker(port) as one:
                await one.say(line(r.Status()))
                assert (await one.hear()) is not None
                inside.append(one)
                await trio.sleep_forever()

        for _ in range(d.CLIENTS_MAX):
            nursery.start_soon(come)
        await until(lambda: len(inside) == d.CLIENTS_MAX)
        async with asker(port) as late:
            await late.say(line(r.Status()))
            refused = await late.hear()
            assert refused is not None and refused.code == 3
            assert f"{d.CLIENTS_MAX} clients are connected; try again" in refused.error
        await inside[0].say(line(r.Status()))
        assert (await inside[0].hear()) is not None
        nursery.cancel_scope.cancel()
    assert served.clients == 0


async def test_a_client_that_takes_no_answer_delays_no_other_and_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_context, "SEND_LIMIT_S", 0.3)

    async def long_answer(what: r.AnyAsk, wait_s: float) -> r.Answer:
        return r.Answer(result={"text": "x" * 6_000_000} if isinstance(what, r.Status) else {})

    async with served_here(long_answer) as (served, port):
        with socket.create_connection(("127.0.0.1", port)) as deaf:
            deaf.sendall(line(r.Status()) * 3)
            await until(lambda: served.clients == 1)
            async with asker(port) as other:
                await other.say(line(r.Heal()))
                assert (await other.hear()) is not None
            await until(lambda: served.clients == 0)


async def test_an_answer_that_is_too_long_becomes_an_error() -> None:
    async def too_long(what: r.AnyAsk, wait_s: float) -> r.Answer:
        return r.Answer(result={"text": "x" * (r.ANSWER_BYTES_MAX + 1)})

    async with served_here(too_long) as (_, port), asker(port) as one:
        await one.say(line(r.Status()))
        answer = await one.hear()
        assert answer is not None and answer.code == 2 and "bytes" in answer.error


async def test_the_client_waits_no_longer_than_its_limit() -> None:
    async def never(what: r.AnyAsk, wait_s: float) -> r.Answer:
        await trio.sleep_forever()
        raise AssertionError

    async with served_here(never) as (_, port):
        at = Registration("c", mine(), 1, "127.0.0.1", port, TOKEN)
        began = trio.current_time()
        answer = await trio.to_thread.run_sync(ask, at, r.Status(), 0.1)
        assert answer.code == 3 and "did not answer within" in answer.error
        assert trio.current_time() - began < 2.0


async def test_an_absent_server_is_unknown_not_a_traceback() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        at = Registration("c", mine(), 1, "127.0.0.1", closed.getsockname()[1], TOKEN)
        answer = ask(at, r.Status(), 0.1)
    assert answer.code == 3 and answer.error.startswith("cluster c is unreachable")


async def test_every_request_comes_back_as_it_was_sent() -> None:
    ids = list(brokers(1, 0))
    requests: list[r.Ask] = [
        r.Status(), r.Down(), r.Ready(), r.LinkFault(parse(["cut", "a", "->", "b"])), r.Heal(["x"], "hold"),
        r.Machine("power-loss", "broker-0", 3), r.CreateTopic("t", [ids], settings={"min.insync.replicas": 2}),
        r.DescribeTopic("t"), r.Produce("t", ["a"], idempotent=True), r.Consume("t", 1, Offset(5)),
        r.ElectPreferred(["t-0"]),
        r.StartWorkload("w", "t"), r.StopWorkload("w"), r.WorkloadStatus(), r.AddPartitions("t", 2, [ids]),
        r.AlterTopic("t", {"min.insync.replicas": 2}, ["flush.messages"]), r.Reassign({"t-0": ids}),
        r.AlterBroker(BrokerId(1), {"num.io.threads": 9}, ["message.max.bytes"]),
        r.DeleteTopic("t"), r.TopicOffsets("t"), r.DescribeSettings(),
        r.Machine("start", "broker-0", version="2.8", settings={"port": None}, from_files={"port": "1"}),
    ]  # fmt: skip
    assert {type(one) for one in requests} == set(r.AnyAsk.__args__)
    for one in requests:
        assert r.decode_ask(r.decode_request(r.encode_request(TOKEN, one, 1.0))) == one
    with pytest.raises(r.Refused):
        r.encode_request(TOKEN, r.Produce("t", ["x" * r.LINE_BYTES_MAX]), 1.0)
    assert msgspec.json.decode(r.encode_answer(r.unusable("no")))["code"] == 2


async def until(holds: Callable[[], bool]) -> None:
    with trio.fail_after(PATIENCE_S):
        while not holds():
            await trio.testing.wait_all_tasks_blocked(0.005)
