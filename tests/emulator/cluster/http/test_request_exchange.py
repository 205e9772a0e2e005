"""A client's request and its answer as bytes: sent, read, and refused."""

import pytest

from emulator.cluster import control_requests as r
from emulator.cluster.http.replying import headers_of, reply_to
from emulator.cluster.http.request_exchange import Exchange, encoded
from emulator.cluster.http.request_parsing import read_request
from emulator.faults.link_words import parse
from protocol.ids import BrokerId
from tests.emulator.cluster.http.samples import SAMPLES

TOKEN = "0123456789abcdef"
DELAY = "delay client-0 -> broker-1 50ms 10ms --only Fetch,fetcher --client-id a,b --recovery instant"
MORE = (
    r.LinkFault(parse(DELAY.split())),
    r.LinkFault(parse(["cut", "az-0", "->"])),
    r.LinkFault(parse(["hold", "opened_by", "a", "to", "b"])),
    r.LinkFault(parse(["loss", "leader of t-0", "5%"])),
    r.LinkFault(parse(["bandwidth", "a", "b", "10kB"])),
    r.LinkFault(parse(["reset", "a", "500ms", "--only", "client"])),
    r.Heal(["leader of t-0", "rule-3"], "hold"),
    r.Machine("kill", ["broker-*", "leader:t-0"]),
    r.Machine("power-loss", "broker-0", 0),
    r.Machine("start", "broker-0", from_files={"port": "1"}),
    r.StopWorkload("a/b ?&=\u00e9", at_once=True),
    r.Produce("..", ["", "\u2028"], keys=["k", ""], broker=BrokerId(0), idempotent=True),
)


@pytest.mark.parametrize("ask", [*(one.ask for one in SAMPLES if one.ask is not None), *MORE], ids=repr)
def test_the_server_reads_what_a_client_sends(ask: r.ControlRequest) -> None:
    method, target, body = encoded(ask, 0.25)
    request = read_request(method, target, body)
    assert (request.ask, request.wait_s) == (ask, 0.25)


@pytest.mark.parametrize(
    ("ask", "why"),
    [
        (r.Produce("t", ["x" * r.BODY_BYTES_MAX]), "a request of 65[0-9]{3} bytes; the cluster takes 65536"),
        (r.DeleteTopic(""), "topic '': it is empty"),
        (r.Machine("kill", []), "node '': it is empty"),
    ],
)
def test_what_cannot_be_sent_is_refused_at_once(ask: r.ControlRequest, why: str) -> None:
    with pytest.raises(r.Refused, match=f"^{why}$"):
        Exchange(TOKEN, ask, 1.0)


@pytest.mark.parametrize(
    "answer",
    [
        r.Answer(result={"topics": {}}), r.unusable("broker-1 runs already"), r.unusable("no", {"so_far": [1]}),
        r.unknown("broker-0 ended by itself", why="ended"), r.unknown("not within 10 s", {"so_far": [1]}),
        r.unknown("96 requests are under way", why="busy"), r.unknown("KeyError", why="bug"),
        r.unusable(r.NotThere("no node")),
    ],
    ids=repr,
)  # fmt: skip
def test_a_client_receives_what_the_cluster_answered(answer: r.Answer) -> None:
    reply = reply_to(read_request("GET", "/v1/topics", b"").route, answer)
    lines = [f"HTTP/1.1 {reply.status} {reply.reason}", *(f"{a}: {b}" for a, b in headers_of(reply, "x", close=True))]
    data = "\r\n".join((*lines, "", "")).encode() + reply.body
    exchange = Exchange(TOKEN, r.DescribeTopic(), 1.0)
    pieces = [exchange.add(data[at : at + 7]) for at in range(0, len(data), 7)]
    received = pieces.pop()
    assert received is not None and not any(pieces)
    assert (received.code, received.error, received.result) == (answer.code, answer.error, answer.result)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "it closed the connection without an answer"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n{", "it closed the connection without an answer"),
        (b'{"code": 0}\r\n\r\n', "not an answer: illegal status line"),
        (b"HTTP/1.1 200 OK\r\nx: " + b"x" * 20_000, "not an answer: Receive buffer too long"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nnull", "not an answer: Expected `object`, got `null`"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n[", "not an answer: "),
        (b"HTTP/1.1 404 x\r\ncontent-length: 2\r\n\r\n{}", "not an answer: Object missing required field `error`"),
        (b'HTTP/1.1 404 x\r\ncontent-length: 21\r\n\r\n{"error":"","code":7}x', "not an answer: Invalid enum value 7"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * (r.ANSWER_BYTES_MAX + 1), "an answer of more than"),
    ],
    ids=range(9),
)
def test_what_is_no_answer(data: bytes, why: str) -> None:
    exchange = Exchange(TOKEN, r.Status(), 1.0)
    with pytest.raises(ConnectionError) as failed:
        assert not data or exchange.add(data) is None
        exchange.add(b"")
    assert str(failed.value).startswith(why)


@pytest.mark.parametrize(("status", "code"), [(401, 2), (409, 2), (500, 3), (503, 3)])
def test_a_refusal_without_a_code_has_that_of_its_status(status: int, code: int) -> None:
    exchange = Exchange(TOKEN, r.Status(), 1.0)
    answer = exchange.add(f'HTTP/1.1 {status} x\r\ncontent-length: 14\r\n\r\n{{"error":"no"}}'.encode())
    assert answer == r.Answer(code, "no")


def test_an_empty_name_is_refused_and_means_not_all() -> None:
    assert encoded(r.AlterBroker(None, {"num.io.threads": 9}), 1.0)[1].startswith("/v1/brokers?")
    with pytest.raises(r.Refused, match="broker '': it is empty"):
        encoded(r.AlterBroker("", {"num.io.threads": 9}), 1.0)
