"""The live page of a real cluster in a real browser, by keyboard, and foreign pages."""

from __future__ import annotations

import json
import shlex
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from emulator.cli.commands.live_page import page_address
from emulator.cluster.control_requests import Heal, LinkFault
from emulator.cluster.http.request_parsing import read_request
from emulator.cluster.page.story_steps import story_of
from emulator.faults.link_words import parse
from emulator.runs.scenario_sources import find_scenario
from tests.audit.browser import NARROW, WIDE, Browser, opened_browser
from tests.live.conftest import Live, bring_up
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.browser, pytest.mark.network]

TOPIC = {"topic": "t", "assignment": [[0, 1, 2]]}
STORY = """
id: told
title: A story of three steps
kafka: [2.6]
steps:
  - start: [0, 1, 2]
  - create-topic: {topic: told, assignment: [[1, 2, 0]]}
  - produce: {broker: leader of told-0, values: [told], acks: all}
  - snapshot: the record is everywhere
"""
LOOK_S = 0.05
FACTS = """await frame(); const text = (css) => [...document.querySelectorAll(css)].map((one) => one.textContent);
    const one = document.activeElement, style = getComputedStyle(one);
    return {connection: text("#connection")[0], alarm: text("#contradictions")[0],
      faults: text("#faults-section tbody tr"), cli: text(".cli"), http: text(".http"),
      result: text(".result")[0], shown: !document.querySelector("main").hidden,
      focus: one.id || one.dataset.key || one.textContent, panel: document.getElementById("panel").open,
      story: text(".story .next"), told: text(".story .done"), position: text("#story-section [role=status]")[0],
      ring: style.outlineStyle !== "none" || one.matches("g[role=button]")};"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with opened_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A cluster with a page, a topic and two records."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        patch.setenv("XDG_STATE_HOME", str(home / "state"))
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
        (home / "told.yaml").write_text(STORY)
        story = story_of(find_scenario(str(home / "told.yaml")))
        live = bring_up(home / "runs" / "page", page=True, story=story, speed=1.0)
        try:
            request(live, "POST", "/v1/topics", TOPIC)
            request(live, "POST", "/v1/topics/t/records", {"values": ["a", "b"], "acks": -1})
            yield live
        finally:
            live.down()


@pytest.fixture
def page(browser: Browser, live: Live) -> Iterator[Browser]:
    """The page, live; whatever a test does with it, it complains of nothing."""
    browser.open("about:blank")
    browser.complaints()
    browser.open(page_address(live.registration))
    until(browser, lambda facts: facts["connection"] == "Live" and facts["shown"])
    yield browser
    assert browser.complaints() == []


def request(live: Live, method: str, target: str, body: Any = None) -> dict[str, Any]:
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {live.registration.token}"}
    call = Request(f"{live.registration.http}{target}", data, headers, method=method)
    with urlopen(call, timeout=PATIENCE_S) as reply:
        result: dict[str, Any] = json.loads(reply.read())
    return result


def until(browser: Browser, holds: Any, limit_s: float = PATIENCE_S) -> dict[str, Any]:
    """The first facts that held."""
    deadline = time.monotonic() + limit_s
    while True:
        facts: dict[str, Any] = browser.run(FACTS)
        assert isinstance(facts, dict), facts
        if holds(facts):
            return facts
        assert time.monotonic() < deadline, facts
        threading.Event().wait(LOOK_S)


def press(browser: Browser, *keys: str) -> dict[str, Any]:
    from selenium.webdriver import ActionChains

    ActionChains(browser.driver).send_keys(*keys).perform()
    facts: dict[str, Any] = browser.run(FACTS)
    return facts


def test_a_cut_by_keyboard_two_leaders_the_heal_and_the_saved_report(page: Browser, live: Live, tmp_path: Path) -> None:
    from selenium.webdriver import Keys

    page.run("document.querySelector('main').focus(); return 1;")
    met: list[str] = []
    while "az az-0" not in met:
        facts = press(page, Keys.TAB)
        assert facts["ring"] and len(met) < 30, (facts, met)
        met.append(facts["focus"])
    facts = press(page, Keys.ENTER)
    assert facts["panel"] and facts["focus"] == "Cut az-0 from all others" and facts["cli"] == []
    facts = press(page, Keys.ENTER)
    assert facts["cli"] == ["faultline cut az-0 --cluster three-az"] and facts["focus"] == "Apply"
    assert facts["http"] == ['POST /v1/faults {"fault":"cut","places":["az-0"]}'] and facts["faults"] == []
    press(page, Keys.ENTER)
    until(page, lambda facts: facts["faults"] and facts["result"].startswith("Done"))
    assert press(page, Keys.ESCAPE)["focus"] == "az az-0", "the focus returns"
    facts = until(page, lambda facts: "Two leaders of t-0: broker-0 (epoch " in facts["alarm"])
    labels = page.run("return [...document.querySelectorAll('g.leads')].map((one) => one.getAttribute('aria-label'));")
    assert len(labels) == 2 and all("leads, epoch" in label for label in labels)
    shapes = page.run("return [...document.querySelectorAll('g.leads .letter')].map((one) => one.textContent);")
    assert len(set(shapes)) == 2, "colour is never alone"
    page.run("document.querySelector('#faults-section tbody button').focus(); return 1;")
    facts = press(page, Keys.ENTER)
    assert facts["cli"][0].startswith("faultline heal rule-") and facts["focus"] == "Apply"
    press(page, Keys.ENTER)
    until(page, lambda facts: not facts["faults"] and facts["alarm"] == "")
    press(page, Keys.ESCAPE)
    _plays_without_a_server(page, _saved(page, tmp_path))


def test_a_story_is_done_step_by_step(page: Browser) -> None:
    from selenium.webdriver import Keys

    facts = until(page, lambda facts: facts["position"] == "Step 1 of 3 is next")
    assert facts["story"] == ["create-topic told, assignment 1,2,0Do this"] and facts["told"] == []
    for position, command in (
        ("Step 2 of 3 is next", "faultline topic create told --assignment 1,2,0"),
        ("Step 3 of 3 is next", "faultline produce told told --acks all --timeout-ms 1500"),
    ):
        page.run("document.querySelector('.story .next button').focus(); return 1;")
        facts = press(page, Keys.ENTER)
        assert facts["cli"] == [f"{command} --cluster three-az"] and facts["panel"] and facts["focus"] == "Apply"
        press(page, Keys.ENTER)
        facts = until(page, lambda facts, position=position: facts["position"] == position)
        assert facts["result"] == f"Done: {command}"
        press(page, Keys.ESCAPE)
    page.run("document.querySelector('.story .next button').focus(); return 1;")
    facts = press(page, Keys.ENTER)
    assert facts["position"] == "All 3 steps are done" and facts["story"] == [] and len(facts["told"]) == 3


def test_groups_are_shown_with_their_lag(page: Browser) -> None:
    rows = page.run(
        """const one = globalThis.page, state = structuredClone(one.recording.state);
        const leads = (high_watermark) => ({is_leader: true, leader_epoch: 1, high_watermark});
        state.partitions = {"g-0": {"broker-1": leads(9)}};
        for (const node of Object.values(state.nodes)) node.groups = {};
        state.nodes["broker-0"].groups = {billing: {state: "Stable", generation: 2, members: 3, offsets: {"g-0": 4}}};
        one.groups.draw(state);
        return [...document.querySelectorAll("#groups-section tbody tr")].map((row) =>
          [...row.children].map((cell) => cell.textContent));"""
    )
    assert rows == [["billing", "broker-0", "Stable", "3", "g-0", "4", "5"]]


def _saved(page: Browser, folder: Path) -> Path:
    text = page.run(
        """const real = URL.createObjectURL, kept = [];
        URL.createObjectURL = (blob) => { kept.push(blob); return real.call(URL, blob); };
        document.getElementById("save").click();
        while (!kept.length) await frame();
        URL.createObjectURL = real;
        return await kept[0].text();"""
    )
    path = folder / "saved.html"
    path.write_text(text, encoding="utf-8")
    return path


def _plays_without_a_server(browser: Browser, saved: Path) -> None:
    for width in (WIDE, NARROW):
        browser.open(saved, width=width)
        facts = until(browser, lambda facts: facts["shown"])
        assert facts["connection"] == "A recording"
        wide = browser.run("await frame(); return document.documentElement.scrollWidth;")
        assert wide <= width
    seen = browser.run(
        """const slider = document.getElementById("moment"), alarms = new Set();
        const begin = Number(slider.min), step = (Number(slider.max) - begin) / 100;
        for (let n = 0; n <= 100; n++) {
          slider.value = begin + n * step; slider.dispatchEvent(new Event("input")); await frame();
          alarms.add(document.getElementById("contradictions").textContent);
        }
        document.querySelector('[data-key="az az-0"]').dispatchEvent(new MouseEvent("click")); await frame();
        document.querySelector(".choices button").click();
        return {alarms: [...alarms], disabled: document.querySelector(".apply").disabled,
          said: document.querySelector(".result").textContent};"""
    )
    assert "" in seen["alarms"]
    assert any("Two leaders of t-0: broker-0 (epoch " in one for one in seen["alarms"]), seen["alarms"]
    assert seen["disabled"] and seen["said"].startswith("This is a recording")


def test_each_shown_command_is_the_shown_request(page: Browser) -> None:
    made = page.run(
        """const of = await import("/page/page_commands.js");
        return [...of.onLinks("az-0"), ...of.onLinks("az-0", "az-1"), of.oneWay("az-1", "az-2"), of.heal("rule-3"),
          of.healAll()].map((one) => ({...one, body: one.body ? JSON.stringify(one.body) : ""}));"""
    )
    assert len(made) == 11
    for one in made:
        program, *words = shlex.split(one["cli"])
        expected = Heal(words[1:]) if words[0] == "heal" else LinkFault(parse(words))
        assert program == "faultline" and read_request(one["method"], one["path"], one["body"].encode()).ask == expected
    nodes = page.run(
        """const of = await import("/page/page_commands.js"), alive = {alive: true};
        return [...of.onNode("broker-0", alive), ...of.onNode("broker-0", {alive: true, paused: true}),
          ...of.onNode("broker-0", {alive: false})].map(({cli, method, path, body}) => [cli, method, path, body]);"""
    )
    for cli, method, path, body in nodes:
        if "/v1/nodes/" in path:
            read: Any = read_request(method, path, b"{}").ask
            assert cli == f"faultline {read.fault} {read.node}" and body == {}


def test_what_the_read_only_token_and_another_clusters_address_show(browser: Browser, live: Live) -> None:
    browser.open("about:blank")
    address = page_address(live.registration, read_only=True)
    browser.open(address)
    until(browser, lambda facts: facts["connection"] == "Live, read-only" and facts["shown"])
    browser.run("document.getElementById('heal-all').click(); return 1;")
    facts = until(browser, lambda facts: facts["cli"])
    assert facts["result"].startswith("This token is read-only")
    assert browser.run("return document.querySelector('.apply').disabled;")
    assert browser.complaints() == []
    for changed, says in (
        (address.partition("run=")[0] + "run=ffffffff", "This address belongs to another cluster than three-az"),
        (address.replace("token=", "token=0"), "not this run's token"),
        (address.partition("#")[0], "No token in this address"),
    ):
        browser.open("about:blank")
        browser.open(changed)
        facts = until(browser, lambda facts, says=says: says in facts["connection"])
        assert not facts["shown"]
    browser.open("about:blank")
    browser.complaints()


def test_nothing_but_the_pages_own_files_runs_and_a_reader_may_want_no_motion(page: Browser) -> None:
    page.run("await new Promise((then) => setTimeout(then, 0)); return 1;")
    blocked = page.run(
        """const seen = []; addEventListener("securitypolicyviolation", (event) => seen.push(event.violatedDirective));
        const script = document.createElement("script");
        try { script.textContent = "document.title = 'hit'"; } catch { seen.push("trusted-types"); }
        const image = new Image(); image.src = "http://127.0.0.1:1/x"; document.body.append(image);
        try { await fetch("http://127.0.0.1:1/"); } catch { seen.push("fetch"); }
        await frame(); await frame();
        image.remove(); return [document.title, ...new Set(seen)];"""
    )
    assert blocked[0] != "hit" and {"img-src", "connect-src", "fetch", "trusted-types"} <= set(blocked), blocked
    assert len(page.complaints()) >= 2, "the browser reports each"
    for value, moves in (("reduce", False), ("no-preference", True)):
        page.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-reduced-motion", "value": value}]}
        )
        seconds = page.run("return getComputedStyle(document.querySelector('.map .line')).transitionDuration;")
        assert (seconds != "0s") == moves


ATTACK = """
const [port, token] = location.hash.slice(1).split(",");
const done = [];
async function attempt(name, act) {
  try { done.push(`${name}: ${await act()}`); } catch (error) { done.push(`${name}: refused`); }
}
async function all() {
  for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `rebound.example:${port}`]) {
    const at = `http://${host}`, headers = { authorization: `Bearer ${token}` };
    for (const [method, path] of [["POST", "/v1/down"], ["DELETE", "/v1/faults"], ["POST", "/v1/nodes/broker-0/kill"],
        ["PATCH", "/v1/brokers"], ["GET", "/v1/status"], ["GET", "/v1/stream"]]) {
      await attempt(`fetch ${method} ${host}`, async () => (await fetch(at + path, { method, headers })).status);
      await attempt(`plain ${method} ${host}`, async () => (await fetch(at + path, { method, mode: "no-cors" })).type);
    }
    for (const method of ["post", "get"]) {
      const frame = document.body.appendChild(document.createElement("iframe"));
      frame.name = `${host} ${method}`;
      const form = document.body.appendChild(document.createElement("form"));
      Object.assign(form, { method, action: `${at}/v1/down`, target: frame.name });
      form.submit();
    }
    for (const path of ["/v1/down", "/"]) document.body.appendChild(new Image()).src = at + path;
    document.body.appendChild(document.createElement("iframe")).src = `${at}/#token=${token}`;
    document.body.appendChild(document.createElement("script")).src = `${at}/page/live_page.js`;
    await attempt(`socket ${host}`, () => new Promise((then) => {
      const socket = new WebSocket(`ws://${host}/v1/stream`);
      socket.onopen = () => then("open");
      socket.onerror = () => then("refused");
    }));
    navigator.sendBeacon(`${at}/v1/down`, "{}");
  }
  window.attempts = done;
}
all();
"""


def test_a_foreign_page_applies_nothing_even_with_the_token(browser: Browser, live: Live) -> None:
    """From another origin of this machine.

    It tries fetch, forms, images, frames, scripts, beacons, WebSocket and DNS rebinding.
    """
    request(live, "POST", "/v1/faults", {"fault": "delay", "places": ["client-0", "client-1"], "delay_ms": 1})
    before = request(live, "GET", "/v1/status")
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Attacker)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        at = live.registration
        browser.open(f"http://127.0.0.1:{server.server_address[1]}/#{at.port},{at.token}")
        done = _attempts(browser)
        assert len(done) == 3 * 13
        assert {one.rpartition(": ")[2] for one in done} <= {"refused", "opaque"}, done
        browser.open(f"http://rebound.example:{at.port}/#token={at.token}")
        assert "Host header" in browser.run("return document.body.textContent;")
    finally:
        server.shutdown()
        server.server_close()
        browser.open("about:blank")
        browser.complaints()
    after = request(live, "GET", "/v1/status")
    assert (
        [one["id"] for one in after["faults"] if one["healed_ms"] is None]
        == [one["id"] for one in before["faults"] if one["healed_ms"] is None]
        != []
    )
    assert _lives(after) == _lives(before)


def _lives(status: dict[str, Any]) -> dict[str, tuple[bool, int]]:
    return {name: (node["alive"], node["incarnation"]) for name, node in status["nodes"].items()}


def _attempts(browser: Browser) -> list[str]:
    """The results of every attempt."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        done: list[str] | None = browser.run("return window.attempts ?? null;")
        if done is not None:
            return done
        assert time.monotonic() < deadline
        threading.Event().wait(LOOK_S)


class _Attacker(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        """The page; the address has what it attacks."""
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(f"<body><script>{ATTACK}</script>".encode())

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing: the base class writes to standard error."""
