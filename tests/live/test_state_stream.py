"""The stream of states over sockets: snapshot, changes, resumption; slow and many readers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
import trio
import trio.testing

from emulator.cluster import control_context
from emulator.cluster import control_requests as r
from emulator.cluster import control_server as d
from emulator.cluster.http.access_tokens import read_only_token, run_id
from emulator.cluster.page import state_stream
from emulator.cluster.page.state_stream import READERS_MAX, StateStream
from tests.live.test_control_server import TOKEN, echo, until
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.trio

READER = read_only_token(TOKEN.encode()).decode()
RUN = run_id(TOKEN.encode())


class Watched:
    """A server whose stream has the state that a test sets."""

    def __init__(self) -> None:
        self.state: dict[str, Any] = {"n": 0}
        self.at_ms = 0.0
        self.looks = 0
        self.stream = StateStream(RUN, self.look)
        self.requested: list[r.AnyAsk] = []
        self.served = d.ControlServer(TOKEN, self.answer, stream=self.stream)
        self.port = 0

    async def look(self) -> tuple[dict[str, Any], float]:
        self.looks += 1
        self.at_ms += 1.0
        return self.state, self.at_ms

    async def answer(self, requested: r.AnyAsk, wait_s: float) -> r.Answer:
        self.requested.append(requested)
        return await echo(requested, wait_s)


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_stream, "SAMPLE_S", 0.005)


@asynccontextmanager
async def watched() -> AsyncIterator[Watched]:
    one = Watched()
    async with trio.open_nursery() as nursery:
        one.port = await nursery.start(one.served.serve)
        nursery.start_soon(one.stream.run)
        yield one
        nursery.cancel_scope.cancel()


class Reader:
    def __init__(self, stream: trio.SocketStream) -> None:
        self.stream = stream
        self.waiting = b""

    async def take(self) -> tuple[str, str, Any]:
        """(id, kind, data) of the next event."""
        while b"\n\n" not in self.waiting:
            await self._more()
        block, _, self.waiting = self.waiting.partition(b"\n\n")
        lines = [line for line in block.decode().splitlines() if ": " in line]  # between them the sizes of chunks
        fields = dict(line.split(": ", 1) for line in lines)
        return fields["id"], fields["event"], msgspec.json.decode(fields["data"])

    async def head(self) -> str:
        while b"\r\n\r\n" not in self.waiting:
            await self._more()
        head, _, self.waiting = self.waiting.partition(b"\r\n\r\n")
        return head.decode().lower()

    async def _more(self) -> None:
        with trio.fail_after(PATIENCE_S):
            data = await self.stream.receive_some(65536)
        assert data, f"the stream ended after {self.waiting!r}"
        self.waiting += data


@asynccontextmanager
async def reader(port: int, *, token: str = TOKEN, target: str = "/v1/stream", more: str = "") -> AsyncIterator[Reader]:
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        head = f"GET {target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n{more}\r\n"
        await stream.send_all(head.encode())
        yield Reader(stream)


async def test_a_snapshot_then_the_changes_then_the_end() -> None:
    async with watched() as one, reader(one.port, token=READER) as its:
        head = await its.head()
        assert head.startswith("http/1.1 200") and "text/event-stream" in head and "no-store" in head
        assert "faultline-access: read-only" in head and "access-control" not in head
        first, kind, data = await its.take()
        assert (first, kind, data["state"]) == (f"{RUN}.0", "snapshot", {"n": 0})
        one.state = {"n": 1}
        assert (await its.take())[1:] == ("delta", {"at_ms": one.at_ms, "set": [[["n"], 1]], "remove": []})
        assert one.served.clients == 0 and one.stream.readers == 1
        one.stream.end()
        assert (await its.take())[1] == "end"
        await one.stream.drained()


async def test_a_reader_resumes_after_its_last_event_by_header_or_query() -> None:
    async with watched() as one:
        async with reader(one.port) as its:
            assert "faultline-access: full" in await its.head()
            last, *_ = await its.take()
        await until(lambda: not one.stream.readers)
        one.state = {"n": 7}
        for how in ({"more": f"Last-Event-ID: {last}\r\n"}, {"target": f"/v1/stream?after={last}"}):
            async with reader(one.port, **how) as its:
                await its.head()
                _, kind, data = await its.take()
                assert (kind, data["set"], data["remove"]) == ("delta", [[["n"], 7]], [])
        async with reader(one.port, more="Last-Event-ID: ffffffff.0\r\n") as its:
            await its.head()
            assert (await its.take())[1] == "snapshot", "of another cluster"


async def test_nothing_is_sampled_without_a_reader() -> None:
    async with watched() as one:
        await trio.testing.wait_all_tasks_blocked(0.02)
        assert one.looks == 0
        async with reader(one.port) as its:
            await its.head()
            await its.take()
        await until(lambda: not one.stream.readers)
        looks = one.looks
        await trio.testing.wait_all_tasks_blocked(0.05)
        assert one.looks <= looks + 1


async def test_64_readers_that_read_nothing_leave_the_server_to_others_and_are_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(control_context, "SEND_LIMIT_S", 0.3)
    async with watched() as one, trio.open_nursery() as nursery:
        slow: list[trio.SocketStream] = []
        for _ in range(READERS_MAX):
            stream = await nursery.start(_silent, one.port)
            slow.append(stream)
        await until(lambda: one.stream.readers == READERS_MAX)
        async with reader(one.port) as refused:
            assert (await refused.head()).startswith("http/1.1 503")
        async with reader(one.port, target="/v1/status") as client:
            assert (await client.head()).startswith("http/1.1 200"), "commands have connections of their own"
        one.state = {"big": "x" * (8 << 20)}
        await until(lambda: one.stream.readers == 0)
        nursery.cancel_scope.cancel()


async def _silent(port: int, *, task_status: trio.TaskStatus[trio.SocketStream]) -> None:
    async with reader(port) as its:
        await its.head()
        task_status.started(its.stream)
        await trio.sleep_forever()


async def test_the_read_only_token_changes_nothing() -> None:
    async with watched() as one:
        for method, target in (("POST", "/v1/down"), ("DELETE", "/v1/faults"), ("POST", "/v1/nodes/broker-0/kill"),
                               ("PATCH", "/v1/brokers")):  # fmt: skip
            async with await trio.open_tcp_stream("127.0.0.1", one.port) as stream:
                shown = f"Host: localhost\r\nAuthorization: Bearer {READER}\r\nContent-Length: 2"
                head = f"{method} {target} HTTP/1.1\r\n{shown}\r\n\r\n{{}}"
                await stream.send_all(head.encode())
                assert (await Reader(stream).head()).startswith("http/1.1 403")
        assert one.requested == []
        async with reader(one.port, token=READER, target="/v1/status") as its:
            assert (await its.head()).startswith("http/1.1 200")


async def test_a_look_that_fails_is_logged_once_and_the_stream_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async with watched() as one:
        look, failing = one.look, [ValueError("a node ended")] * 3

        async def sometimes() -> tuple[dict[str, Any], float]:
            if failing:
                raise failing.pop()
            return await look()

        monkeypatch.setattr(one.stream, "_look", sometimes)
        async with reader(one.port) as its:
            await its.head()
            assert (await its.take())[1] == "snapshot"
    assert capsys.readouterr().err.count("ValueError: a node ended") == 1
