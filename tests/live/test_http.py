"""HTTP at the control server, over sockets.

A client of another language, and a misbehaving one.
"""

import http.client
import json
import socket
from typing import Any

import pytest
import trio

from emulator.cluster import control_context
from emulator.cluster import control_requests as r
from emulator.cluster import control_server as c
from emulator.cluster.http import conversation as h
from emulator.cluster.http.request_parsing import read_request
from emulator.cluster.http.route import STREAM
from emulator.worlds.network import unauthenticated_connections
from tests.emulator.cluster.http.samples import SAMPLES
from tests.live.test_control_server import TOKEN, echo, served_here, until
from tests.live.web import LET_IN, web
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.trio


async def test_every_operation_by_an_ordinary_client() -> None:
    """All of the description's paths, over one connection of Python's own client."""
    requested: list[r.AnyAsk] = []

    async def answer(what: r.AnyAsk, wait_s: float) -> r.Answer:
        requested.append(what)
        applied = [{"id": "rule-7"}] if isinstance(what, r.LinkFault) else []
        return r.Answer(result={"at_ms": 1.0, "faults": [], "nodes": {}, **({"applied": applied} if applied else {})})

    async def audit(wait_s: float) -> r.Answer:
        return r.Answer(result={"valid": True})

    def call_all(port: int) -> None:
        client = http.client.HTTPConnection("localhost", port, timeout=PATIENCE_S)
        for sample in SAMPLES:
            body = None if sample.body is None else json.dumps(sample.body)
            client.request(sample.method, sample.target, body, {"Authorization": f"Bearer {TOKEN}"})
            reply = client.getresponse()
            text = reply.read()
            if sample.target.startswith(STREAM):  # tests/live/test_state_stream.py reads one
                assert reply.status == 409 and "no stream" in json.loads(text)["error"]
                continue
            route = read_request(sample.method, sample.target, (body or "").encode()).route
            reported = {} if route.text is not None else json.loads(text)
            assert reply.status == route.status, (sample, reported)
            assert reply.headers["Content-Type"].partition(";")[0] == route.media_type
            assert reply.headers["Cache-Control"] == "no-store"
            assert not [name for name in reply.headers if name.lower().startswith("access-control")]
            if route.name == "Faults":
                assert reported == {"faults": []}
            if route.name == "BreakLinks":
                assert reply.headers["Location"] == "/v1/faults/rule-7"
            if route.name == "Description":
                assert reported["openapi"] == "3.1.0"
            if route.name == "Audit":
                assert reported == {"valid": True}
        client.close()

    async with trio.open_nursery() as nursery:
        served = c.ControlServer(TOKEN, answer, audit=audit)
        port = await nursery.start(served.serve)
        await trio.to_thread.run_sync(call_all, port)
        nursery.cancel_scope.cancel()
    assert requested == [sample.ask for sample in SAMPLES if sample.ask is not None]


async def test_without_the_token_nothing_is_looked_at_and_no_body_is_waited_for() -> None:
    requested: list[Any] = []

    async def answer(what: r.AnyAsk, wait_s: float) -> r.Answer:
        requested.append(what)
        return r.Answer()

    async with served_here(answer) as (served, port):
        for credentials in ("", "Authorization: Bearer ffffffffffffffff\r\n"):
            async with web(port) as one:
                await one.say(f"POST /v1/down HTTP/1.1\r\nHost: localhost\r\n{credentials}Content-Length: 9\r\n\r\n")
                received = await one.hear()
                assert (
                    received is not None and received.status == 401 and received.headers["www-authenticate"] == "Bearer"
                )
                await one.stream.send_eof()
                assert await one.is_closed()
        assert served.clients == 0 and requested == []


async def test_a_browser_is_refused_whatever_it_shows() -> None:
    async with served_here() as (_, port):
        for request in (
            f"GET /v1/status HTTP/1.1\r\n{LET_IN}Origin: http://127.0.0.1\r\n\r\n",
            "OPTIONS /v1/down HTTP/1.1\r\nHost: localhost\r\nOrigin: http://x\r\n\r\n",
            f"GET /v1/status HTTP/1.1\r\n{LET_IN.replace('localhost', 'rebound.example')}\r\n",
            f"GET http://rebound.example/v1/status HTTP/1.1\r\n{LET_IN}\r\n",
        ):
            async with web(port) as one:
                await one.say(request)
                received = await one.hear()
                assert received is not None and received.status == 403
                assert not [name for name in received.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    ("output", "status"),
    [
        ("GET /v1/status\r\n\r\n", 400),
        ('{"token": "0123456789abcdef", "ask": {}}\r\n\r\n', 400),
        ("\x16\x03\x01", 400),
        ("GET /v1/status HTTP/2.0\r\n\r\n", 400),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        (f"GET /v1/status HTTP/1.1\r\nAuthorization: Bearer {TOKEN}\r\n\r\n", 400),
        (f"GET /v1/status HTTP/1.1\r\n{LET_IN}Bad Header: x\r\n\r\n", 400),
        (f"GET /v1/status HTTP/1.1\r\n{LET_IN}X: \0\r\n\r\n", 400),
        (f"GET /v1/status HTTP/1.1\r\n{LET_IN}X: {'x' * 30_000}\r\n\r\n", 431),
        (f"GET /{'x' * 30_000} HTTP/1.1\r\n{LET_IN}\r\n", 431),
        (f"POST /v1/down HTTP/1.1\r\n{LET_IN}Content-Length: x\r\n\r\n", 400),
        (f"POST /v1/down HTTP/1.1\r\n{LET_IN}Content-Length: -1\r\n\r\n", 400),
        (f"POST /v1/down HTTP/1.1\r\n{LET_IN}Content-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (f"POST /v1/down HTTP/1.1\r\n{LET_IN}Transfer-Encoding: gzip\r\n\r\n", 501),
        (f"POST /v1/down HTTP/1.1\r\n{LET_IN}Transfer-Encoding: chunked\r\n\r\nxyz\r\n", 400),
        (f"POST /v1/down HTTP/1.1\r\n{LET_IN}Transfer-Encoding: chunked\r\n\r\n1;{'x' * 30_000}", 431),
        (f"POST /v1/topics HTTP/1.1\r\n{LET_IN}Content-Length: 99999999999999999999\r\n\r\n", 413),
        (f"POST /v1/topics HTTP/1.1\r\n{LET_IN}Transfer-Encoding: chunked\r\n\r\n" + "1000\r\n" + "x" * 4096 + "\r\n"
         + ("1000\r\n" + "x" * 4096 + "\r\n") * 16, 413),
    ],
)  # fmt: skip
async def test_what_is_no_request_is_one_line_of_error_and_the_last(output: str, status: int) -> None:
    async with served_here() as (_, port):
        async with web(port) as one:
            await one.say(output)
            received = await one.hear()
            assert received is not None and received.status == status and received.error
            assert received.headers["connection"] == "close"
            await one.stream.send_eof()
            assert await one.is_closed()
        async with web(port) as another:
            received = await another.get()
            assert received is not None and received.status == 200


async def test_a_request_refused_for_its_content_is_not_the_last() -> None:
    async def answer(what: r.AnyAsk, wait_s: float) -> r.Answer:
        raise r.NotThere("no topic 'u'; did you mean t?") if isinstance(what, r.DescribeTopic) else ValueError("a bug")

    async with served_here(answer) as (_, port), web(port) as one:
        for path, status, error in (
            ("/v1/stats", 404, "did you mean /v1/status?"), ("/v1/status?wait_s=x", 400, "wait_s"),
            ("/v1/topics/u", 404, "did you mean t?"), ("/v1/status", 500, "a bug"), ("/v1/nodes/b/kill", 405, "POST"),
        ):  # fmt: skip
            received = await one.get(path)
            assert received is not None and received.status == status and error in received.error
            assert received.headers.get("allow") == ("POST" if status == 405 else None)


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (r.unusable("broker-1 runs already"), 409), (r.unusable(r.NotThere("no node")), 404),
        (r.unknown("it ended by itself", why="ended"), 409), (r.unknown("not within 10 s"), 504),
        (r.unknown("96 requests are under way", why="busy"), 503), (r.unknown("KeyError", why="bug"), 500),
    ],
)  # fmt: skip
async def test_the_clusters_errors_have_a_status(answer: r.Answer, status: int) -> None:
    async def always(what: r.AnyAsk, wait_s: float) -> r.Answer:
        return answer

    async with served_here(always) as (_, port), web(port) as one:
        received = await one.get()
        assert received is not None and (received.status, received.error) == (status, answer.error)
        assert received.body["code"] == answer.code
        assert ("retry-after" in received.headers) == (status == 503)
        ready = await one.get("/v1/ready")
        assert ready is not None and ready.status == (503 if status == 504 else status)


async def test_requests_one_after_the_other_and_several_at_once() -> None:
    async with served_here() as (_, port), web(port) as one:
        body = '{"words": 1}'
        await one.say(
            f"GET /v1/status HTTP/1.1\r\n{LET_IN}\r\n"
            f"POST /v1/faults HTTP/1.1\r\n{LET_IN}Content-Length: {len(body)}\r\n\r\n{body}"
            f"HEAD /v1/topics HTTP/1.1\r\n{LET_IN}\r\n"
            f"DELETE /v1/faults HTTP/1.1\r\n{LET_IN}Connection: close\r\n\r\n"
        )
        received = [await one.hear(), await one.hear(), await one.hear(head_only=True), await one.hear()]
        assert [each and each.status for each in received] == [200, 400, 200, 200]
        assert [each and each.body for each in received[2:]] == [None, {"asked": "Heal"}]
        assert received[2] is not None and int(received[2].headers["content-length"]) > 0
        assert await one.is_closed()


async def test_an_older_http_a_body_in_pieces_and_an_expect_header() -> None:
    async with served_here() as (_, port):
        async with web(port) as old:
            await old.say(f"GET /v1/status HTTP/1.0\r\n{LET_IN}\r\n")
            received = await old.hear()
            assert received is not None and received.status == 200 and await old.is_closed()
        async with web(port) as one:
            await one.say(f"POST /v1/topics HTTP/1.1\r\n{LET_IN}Transfer-Encoding: chunked\r\n\r\n")
            for piece in ('{"to', 'pic": "t"', "}"):
                await one.say(f"{len(piece):x}\r\n{piece}\r\n")
            await one.say("0\r\n\r\n")
            received = await one.hear()
            assert received is not None and (received.status, received.body) == (201, {"asked": "CreateTopic"})
            await one.say(f"POST /v1/down HTTP/1.1\r\n{LET_IN}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n")
            go_on = await one.hear()
            assert go_on is not None and go_on.status == 100
            await one.say("{}")
            received = await one.hear()
            assert received is not None and received.body == {"asked": "Down"}


async def test_a_body_that_is_too_long_is_refused_while_it_is_still_sent() -> None:
    """The sender receives the reason, and meets no reset."""
    async with served_here() as (_, port), web(port) as one, trio.open_nursery() as nursery:
        many = h.LEFTOVER_BYTES_MAX // 2

        async def send() -> None:
            await one.say(f"POST /v1/topics HTTP/1.1\r\n{LET_IN}Content-Length: {many}\r\n\r\n")
            await one.say(b"x" * many)

        nursery.start_soon(send)
        received = await one.hear()
        assert received is not None and received.status == 413 and str(r.BODY_BYTES_MAX) in received.error


async def test_a_slow_client_is_dropped_and_blocks_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(h, "BODY_LIMIT_S", 0.1)
    monkeypatch.setattr(control_context, "SILENCE_LIMIT_S", 0.1)
    async with served_here() as (served, port):
        served.unauthenticated = unauthenticated_connections.UnauthenticatedConnections(c.UNAUTHENTICATED_MAX, 0.1)
        async with web(port) as slow_head, web(port) as slow_body, web(port) as silent:
            await slow_head.say("GET /v1/status HTTP/1.1\r\nHost: loc")
            await slow_body.say(f"POST /v1/topics HTTP/1.1\r\n{LET_IN}Content-Length: 9\r\n\r\n{{")
            received = await silent.get()
            assert received is not None and received.status == 200
            assert await slow_head.is_closed() and await silent.is_closed()
            received = await slow_body.hear()
            assert received is not None and received.status == 408
        await until(lambda: served.clients == 0)


async def test_strangers_make_room_and_clients_beyond_the_bound_are_refused() -> None:
    async with served_here() as (served, port):
        begun = [await trio.open_tcp_stream("127.0.0.1", port) for _ in range(2 * c.UNAUTHENTICATED_MAX)]
        for stream in begun:
            await stream.send_all(b"GET /v1/status HTTP/1.1\r\nX: ")
        async with web(port) as one:
            received = await one.get()
            assert received is not None and received.status == 200
            served.clients += c.CLIENTS_MAX
            async with web(port) as late:
                received = await late.get()
                assert received is not None and received.status == 503 and received.headers["retry-after"] == "1"
            served.clients -= c.CLIENTS_MAX
        for stream in begun:
            await stream.aclose()


async def test_who_takes_no_answer_delays_no_other_and_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_context, "SEND_LIMIT_S", 0.2)

    async def long_answer(what: r.AnyAsk, wait_s: float) -> r.Answer:
        return r.Answer(result={"text": "x" * 6_000_000} if isinstance(what, r.Status) else {})

    async with served_here(long_answer) as (served, port):
        with socket.create_connection(("127.0.0.1", port)) as deaf:
            deaf.sendall(f"GET /v1/status HTTP/1.1\r\n{LET_IN}\r\n".encode() * 3)
            await until(lambda: served.clients == 1)
            async with web(port) as other:
                assert await other.get("/v1/topics") is not None
            await until(lambda: served.clients == 0)


async def test_an_answer_that_is_too_long_becomes_an_error() -> None:
    async def too_long(what: r.AnyAsk, wait_s: float) -> r.Answer:
        return r.Answer(result={"text": "x" * (r.ANSWER_BYTES_MAX + 1)})

    async with served_here(too_long) as (_, port), web(port) as one:
        received = await one.get()
        assert received is not None and received.status == 500 and "bytes" in received.error


async def test_a_client_that_leaves_in_the_middle_costs_nothing() -> None:
    async with served_here(echo) as (served, port):
        for output in ("GET /v1/sta", f"POST /v1/topics HTTP/1.1\r\n{LET_IN}Content-Length: 9\r\n\r\n{{", ""):
            async with web(port) as one:
                await one.say(output)
        await until(lambda: served.clients == 0 and not len(served.unauthenticated))
        async with web(port) as one:
            received = await one.get()
            assert received is not None and received.status == 200
