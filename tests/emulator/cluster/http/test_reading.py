"""HTTP method, target and body become a request, or a line with the nearest valid thing."""

import json

import pytest

from emulator.cluster import control_requests as r
from emulator.cluster.http.admission import HttpRefused
from emulator.cluster.http.link_bodies import BODIES
from emulator.cluster.http.request_parsing import read_request
from emulator.cluster.http.routes import ROUTES
from emulator.faults.link_fault_kinds import KINDS, Cut, PairLinks
from emulator.faults.link_rule_building import rule_of
from emulator.faults.machine_fault_kinds import LIVE_FAULTS
from emulator.worlds.cluster_file.compose_files import named_topology, read_cluster_file
from tests.emulator.cluster.http.samples import SAMPLES, Sample

TOPOLOGY = read_cluster_file(named_topology("three-az")).topology


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: f"{sample.method} {sample.target}")
def test_what_a_request_stands_for(sample: Sample) -> None:
    body = b"" if sample.body is None else json.dumps(sample.body).encode()
    assert read_request(sample.method, sample.target, body).ask == sample.ask


def test_every_request_and_every_fault_can_be_requested() -> None:
    assert {type(sample.ask) for sample in SAMPLES if sample.ask is not None} == set(r.AnyAsk.__args__)
    machines = [sample.ask for sample in SAMPLES if isinstance(sample.ask, r.Machine)]
    assert {ask.fault for ask in machines} == set(LIVE_FAULTS)
    bodies = [json.dumps(one.body).encode() if one.body else b"" for one in SAMPLES]
    requested = [read_request(one.method, one.target, body) for one, body in zip(SAMPLES, bodies, strict=True)]
    assert {one.route.name for one in requested} == {route.name for route in ROUTES}
    assert {str(kind.__struct_config__.tag) for kind in BODIES} == set(KINDS)


@pytest.mark.parametrize(
    "sample",
    [
        Sample("POST", "/v1/nodes/leader:t-0/kill", None, r.Machine("kill", "leader:t-0")),
        Sample("POST", "/v1/nodes/active%20controller/stop", None, r.Machine("stop", "active controller")),
        Sample("POST", "/v1/nodes/az-0,session-1/stop", None, r.Machine("stop", ["az-0", "session-1"])),
        Sample("DELETE", "/v1/faults?place=leader:t-0", None, r.Heal(["leader:t-0"])),
        Sample(
            "POST", "/v1/faults", {"fault": "cut", "places": ["leader of t-0", "active-controller"]},
            r.LinkFault(Cut(links=PairLinks(("leader of t-0", "active-controller")))),
        ),
    ],
)  # fmt: skip
def test_targets_pass(sample: Sample) -> None:
    test_what_a_request_stands_for(sample)


def test_how_long_it_waits() -> None:
    assert read_request("GET", "/v1/status?wait_s=0.25", b"").wait_s == 0.25
    assert read_request("GET", "/v1/ready", b"").wait_s < read_request("GET", "/v1/status", b"").wait_s
    assert read_request("HEAD", "http://localhost:1/v1/status?wait_s=2", b"").wait_s == 2


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ({"fault": "cut", "places": ["az-0", "broker-1"]}, "cut az-0 broker-1"),
        ({"fault": "cut", "places": ["az-0"], "direction": "one-way"}, "cut az-0 ->"),
        ({"fault": "hold", "places": ["az-0", "az-1"], "direction": "one-way"}, "hold az-0 -> az-1"),
        ({"fault": "hold", "places": ["client-0", "broker-1"], "direction": "opened-by"},
         "hold opened_by client-0 to broker-1"),
        ({"fault": "delay", "places": ["az-0"], "delay_ms": 50}, "delay az-0 50ms"),
        ({"fault": "delay", "places": ["az-0", "az-1"], "delay_ms": 1e-5, "jitter_ms": 5e7},
         "delay az-0 az-1 1e-05ms 5e+07ms"),
        ({"fault": "loss", "places": ["az-0"], "share": 0.00001}, "loss az-0 1e-05"),
        ({"fault": "bandwidth", "places": ["az-0"], "bytes_per_s": 1500}, "bandwidth az-0 1.5kB/s"),
        ({"fault": "reset", "places": ["az-0"]}, "reset az-0"),
        ({"fault": "reset", "places": ["az-0"], "every_ms": 500}, "reset az-0 500ms"),
        ({"fault": "cut", "places": ["session"], "only": ["Fetch", "produce"]},
         "cut session (frames of Fetch, Produce out of their streams; not physical)"),
    ],
)  # fmt: skip
def test_a_fault_on_links_is_the_rule_of_the_command(body: dict[str, object], what: str) -> None:
    ask = read_request("POST", "/v1/faults", json.dumps(body).encode()).ask
    assert isinstance(ask, r.LinkFault)
    assert rule_of(TOPOLOGY, "rule-1", ask.fault).what == what


@pytest.mark.parametrize(
    ("method", "target", "body", "status", "error"),
    [
        ("GET", "/", "", 404, "no path '/'; GET /v1/openapi.json describes all there is"),
        ("GET", "/v1/stats", "", 404, "did you mean /v1/status?"),
        ("GET", "/v1/status/", "", 404, "did you mean /v1/status?"),
        ("GET", "/v1//status", "", 404, "did you mean /v1/status?"),
        ("POST", "/v1/nodes/broker-0/kil", "", 404, "did you mean /v1/nodes/broker-0/kill?"),
        ("POST", "/v1/nodes//kill", "", 404, "did you mean /v1/nodes/{node}/kill?"),
        ("GET", "/v1/" + "x" * 9_000, "", 404, "describes all there is"),
        ("PUT", "/v1/topics", "", 405, "no PUT of /v1/topics; there is GET, POST"),
        ("GET", "/v1/nodes/broker-0/kill", "", 405, "there is POST"),
        ("GET", "/v1/status?wait=1", "", 400, "no parameter 'wait'; did you mean 'wait_s'?"),
        ("GET", "/v1/openapi.json?wait_s=1", "", 400, "no parameter 'wait_s'; there is none"),
        ("GET", "/v1/status?color=red", "", 400, "no parameter 'color'; there is wait_s"),
        ("GET", "/v1/status?wait_s=1&wait_s=2", "", 400, "duplicate parameter 'wait_s'"),
        ("GET", "/v1/status?wait_s=nan", "", 400, "wait_s: Expected `float`"),
        ("GET", "/v1/status?wait_s=1e9", "", 400, "wait_s: Expected `float` <= 600"),
        ("GET", "/v1/status?wait_s", "", 400, "not a query"),
        ("GET", "/v1/topics/t/records?offset=-1", "", 400, "offset: Expected `int` >= 0"),
        ("GET", "/v1/topics/t/records?topic=u", "", 400, "no parameter 'topic'"),
        ("GET", "/v1/status", "{}", 400, "GET /v1/status takes no body"),
        ("POST", "/v1/topics", "", 400, "missing required field `topic`"),
        ("POST", "/v1/topics", "{", 400, "Input data was truncated"),
        ("POST", "/v1/topics", "cut az-0", 400, "JSON is malformed"),
        ("POST", "/v1/topics", "[" * 20_000, 400, "Expected `object`, got `array`"),
        ("POST", "/v1/topics", '{"topic": 1}', 400, "topic: Expected `str`, got `int`"),
        ("POST", "/v1/topics", '{"topic": "t", "partition": 2}', 400, "did you mean 'partitions'?"),
        ("POST", "/v1/faults", '{"places": ["az-0"]}', 400, "missing required field `fault`"),
        ("POST", "/v1/faults", '{"fault": "cutt", "places": ["az-0"]}', 400, "no fault 'cutt'; did you mean 'cut'?"),
        ("POST", "/v1/faults", '{"fault": "cut", "places": []}', 400, "places: Expected `array` of length >= 1"),
        ("POST", "/v1/faults", '{"fault": "cut", "places": ["a"], "only": ["Fetchh"]}', 404, "did you mean fetch"),
        ("POST", "/v1/faults", '{"fault": "delay", "places": ["a"], "delay_ms": 0}', 400, "needs milliseconds above 0"),
        ("POST", "/v1/faults", '{"fault": "loss", "places": ["az-0"], "share": 1}', 400, "share: Expected `float` < 1"),
        ("POST", "/v1/nodes/b/slow-disk", '{"operate": 1}', 400, "no field 'operate'; did you mean 'operation_ms'?"),
        ("POST", "/v1/nodes/b/kill", '{"hard": 1}', 400, "no field 'hard'; there is none"),
        ("DELETE", "/v1/faults/%2D%3E", "", 404, "no fault '->'; they are called rule-1"),
        ("DELETE", "/v1/faults/az-0", "", 404, "no fault 'az-0'; they are called rule-1"),
        ("DELETE", "/v1/faults?kind=cutt", "", 400, "kind: Invalid enum value 'cutt'"),
    ],
)  # fmt: skip
def test_what_is_no_request(method: str, target: str, body: str, status: int, error: str) -> None:
    with pytest.raises(HttpRefused) as refused:
        read_request(method, target, body.encode())
    assert refused.value.status == status and error in str(refused.value)
    assert len(str(refused.value)) < 500 and "\n" not in str(refused.value)
    assert bool(refused.value.allow) == (status == 405)
