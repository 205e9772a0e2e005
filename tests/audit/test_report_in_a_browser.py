"""The report in a real browser: nothing on its console, and everything by keyboard, too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from audit.report import write_report
from emulator.cli.commands.run_simulated import judge_into
from emulator.judging.advice.advice_page import page_of
from emulator.runs.directory import prepare
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario
from emulator.runs.verdict_file import Verdict
from tests.audit.browser import NARROW, WIDE, Browser, opened_browser
from tests.emulator.judging.advice.sample_advice import sample_advice

pytestmark = pytest.mark.browser

ISOLATED, WORKLOAD = "az-isolated-leader", "workload-az-cut"
VERSIONS = {ISOLATED: "2.6", WORKLOAD: "2.8"}
BUTTON = 'const button = (by) => document.querySelector(`[data-by="${by}"]`);'
LOOK = "const plot = document.querySelector('.plot'), pane = document.getElementById('picture');"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with opened_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """{scenario: the report of its simulated run}"""
    written = {}
    for scenario, version in VERSIONS.items():
        run = tmp_path_factory.mktemp("runs") / scenario
        prepare(run)
        verdict = judge_into(run, resolve(find_scenario(scenario), version), 1).verdict
        written[scenario] = write_report(run, verdict)
    return written


@pytest.fixture
def page(browser: Browser, pages: dict[str, Path]) -> Iterator[Browser]:
    """The isolated leader's; whatever a test does with it, it complains of nothing."""
    browser.open(pages[ISOLATED])
    yield browser
    assert browser.complaints() == []


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("scenario", [ISOLATED, WORKLOAD])
def test_it_fits_and_complains_of_nothing(
    browser: Browser, pages: dict[str, Path], scenario: str, dark: bool, width: int
) -> None:
    browser.open(pages[scenario], width=width, dark=dark)
    seen = browser.run(
        """await frame();
        const pane = document.getElementById('picture');
        pane.scrollLeft = 1e6; await frame();
        const told = document.querySelector('.picture:not([hidden]) .labels').getBoundingClientRect();
        const style = (one) => getComputedStyle(document.querySelector(one));
        return {wide: document.documentElement.scrollWidth, background: style('body').backgroundColor,
          labels: told.left - pane.getBoundingClientRect().left, cue: style('.hint').display,
          moved: pane.scrollLeft > 0};"""
    )
    assert seen["wide"] <= width, "only the picture and tables scroll"
    assert -1 <= seen["labels"] <= 2, "names stay"
    assert (seen["moved"], seen["cue"]) == ((True, "block") if width == NARROW else (False, "none"))
    assert seen["background"] == ("rgb(20, 24, 28)" if dark else "rgb(251, 250, 247)")
    assert browser.complaints() == []


def test_the_picture_is_zoomed_by_button_and_key_and_printed_whole(page: Browser) -> None:
    begins = page.run(
        f"""{BUTTON} {LOOK} const begins = [], look = () => begins.push(Math.round(plot.viewBox.baseVal.x));
        const press = (key) => {{ pane.dispatchEvent(new KeyboardEvent('keydown', {{key}})); look(); }};
        view.look(0); await frame(); look();
        button(2).click(); look();
        press('+'); press('-'); press('0'); press('+');
        dispatchEvent(new Event('beforeprint')); look();
        dispatchEvent(new Event('afterprint')); look();
        return begins;"""
    )
    # Of the 122 units left of time 0, so many are left out, so that the rest keeps its width.
    assert begins == [0, 61, 92, 61, 0, 61, 0, 61]


def test_what_is_dragged_across_fills_the_pane_a_click_is_a_moment_and_the_wheel_zooms_with_ctrl_only(
    page: Browser,
) -> None:
    seen = page.run(
        f"""{BUTTON} {LOOK} const edge = pane.getBoundingClientRect(), told = document.querySelector('#moment output');
        const seen = {{}}, begin = () => Math.round(plot.viewBox.baseVal.x);
        const point = (type, x) => pane.dispatchEvent(new PointerEvent(type,
          {{pointerType: 'mouse', button: 0, clientX: edge.left + x, clientY: edge.top + 5, bubbles: true}}));
        const wheel = (ctrlKey) => pane.dispatchEvent(new WheelEvent('wheel', {{deltaY: -200, ctrlKey,
          clientX: edge.left + 300, cancelable: true}}));
        wheel(false); seen.plain = begin();
        wheel(true); seen.zoomed = begin(); button(0).click(); seen.whole = begin();
        point('pointerdown', 300); point('pointermove', 303); point('pointerup', 303); await frame();
        seen.clicked = begin(); seen.moment = told.textContent;
        point('pointerdown', 400); point('pointermove', 300); point('pointerup', 300); await frame();
        seen.dragged = begin(); seen.mark = document.querySelector('.dragged');
        seen.says = document.querySelector('#zoom [role=status]').textContent;
        return seen;"""
    )
    assert (seen["plain"], seen["whole"], seen["clicked"], seen["mark"]) == (0, 0, 0, None)
    assert 60 < seen["zoomed"] < seen["dragged"], "from right to left, too"
    assert seen["moment"] not in ("0.00 s", "38.62 s") and seen["says"].startswith("Shown: ")


def test_a_claim_leads_into_the_zoomed_picture_and_to_the_logs_of_its_moment(page: Browser) -> None:
    seen = page.run(
        f"""{BUTTON} {LOOK} for (let n = 0; n < 9; n++) button(2).click();
        document.querySelector('#check-lost-acknowledged .where').click(); await frame();
        const edge = pane.getBoundingClientRect(), here = document.querySelector('.here').getBoundingClientRect();
        return {{inside: here.left > edge.left && here.right < edge.right, focus: document.activeElement.id,
          logs: document.querySelector('#logs h3').textContent,
          tight: document.querySelectorAll('.plot text.epoch:not(.tight)').length,
          told: [...document.querySelectorAll('.plot text.epoch')].some((text) => {{
            const box = text.getBoundingClientRect(); return box.left >= edge.left && box.right <= edge.right; }})}};"""
    )
    assert seen == {"inside": True, "focus": "picture", "logs": "Logs at 12.88 s", "tight": 2, "told": True}


def test_an_expectation_leads_to_its_check(page: Browser) -> None:
    assert page.run(
        """const check = document.getElementById('check-dual-leader'); check.open = false;
        document.querySelector('td a[href="#check-dual-leader"]').click(); await frame();
        return [check.open, location.hash];"""
    ) == [True, "#check-dual-leader"]


def test_the_logs_of_a_moment_show_what_differs_and_what_was_cut_off(page: Browser) -> None:
    logs = """view.look(arguments[0]); await frame();
    return {says: document.querySelector('#logs [role=status]').textContent,
      logs: Object.fromEntries([...document.querySelectorAll('#logs tbody tr:not(.gone)')].map((row) =>
        [row.querySelector('th').firstChild.textContent, [...row.querySelectorAll('.batch')].map((cell) =>
          cell.querySelector('span').textContent + (cell.matches('.differs') ? '≠' : '')).join(' ')])),
      roles: [...document.querySelectorAll('#logs th small')].map((one) => one.textContent),
      epochs: [...document.querySelectorAll('#logs tr:not(.gone) .batch small')].map((one) => one.textContent),
      gone: [...document.querySelectorAll('#logs .gone s')].map((one) => one.textContent).join(' '),
      lost: document.querySelectorAll('#logs .gone b').length};"""

    def at(ms: float) -> Any:
        return page.run(logs, ms)

    before, during, after = at(12_000), at(20_000), at(38_000)
    assert before["logs"] == {"broker-0": "a b", "broker-1": "a b", "broker-2": "a b"}
    assert during["logs"] == {"broker-0": "a b c≠ d≠ e≠", "broker-1": "a b f≠ g≠ h≠", "broker-2": "a b f≠ g≠ h≠"}
    assert during["epochs"] == ["0@0", "0@0", "1@2", "0@0", "1@2"]
    assert during["says"] == "The replicas differ from offset 2 on."
    assert during["roles"] == ["leader, epoch 0", "leader, epoch 1", "follower"] and during["gone"] == ""
    assert set(after["logs"].values()) == {"a b f g h"} and after["gone"] == "c d e x" and after["lost"] == 3


def test_of_a_long_log_the_table_has_a_chosen_part_or_where_replicas_differ(
    browser: Browser, pages: dict[str, Path]
) -> None:
    browser.open(pages[WORKLOAD], width=NARROW)
    logs = """await frame(); const cells = document.querySelectorAll('#logs thead th');
    return {first: cells[1].textContent, says: document.querySelector('#logs [role=status]').textContent,
      epoch: document.querySelector('#logs .batch small').textContent};"""
    apart = browser.run(
        f"""const differs = () => document.querySelector('#logs [role=status]').textContent.includes('differ');
        for (let ms = 15000; ms < 40000 && !differs(); ms += 250) {{ view.look(ms); await frame(); }} {logs}"""
    )
    differs = re.fullmatch(r"The replicas differ from offset (\d+) on\.", apart["says"])
    assert differs is not None and int(apart["first"]) == int(differs[1]) - 2 > 5, apart
    assert re.fullmatch(r"epoch \d", apart["epoch"]), apart
    chosen = browser.run(
        f"""const input = document.querySelector('.range input'); input.value = 5;
        input.dispatchEvent(new Event('input')); {logs}"""
    )
    assert chosen["first"] == "5" and browser.complaints() == []


def test_the_pointers_texts_of_marks_can_be_read_as_a_list(page: Browser) -> None:
    texts = page.run(
        """document.getElementById('near').open = true; view.look(12880); await frame();
        return [...document.querySelectorAll('#near li')].map((one) => one.textContent);"""
    )
    assert any("'c', 'd', 'e'" in one or "c, d, e" in one for one in texts), texts
    assert any("broker-1 leads in epoch 1" in one for one in texts) and len(texts) == 15


def test_messages_are_arrows_as_soon_as_there_is_room_and_what_was_stopped_is_always_drawn(page: Browser) -> None:
    drawn = """await frame(); const of = (css) => document.querySelectorAll(`.overlay .message${css}`).length;
    return {all: of(''), stopped: of('.stopped'), dies: of(' .dies'), epoch: of('.m-epoch'), order: of('.m-order'),
      fetch: of('.m-fetch'), named: [...document.querySelectorAll('.messagename')].map((one) => one.textContent),
      says: document.querySelector('#messages [role=status]').textContent};"""
    whole = page.run(drawn)
    assert whole["all"] == whole["stopped"] == whole["dies"] == 2
    assert "218 in sight, 2 of them stopped on their way. Those are drawn." in whole["says"]
    near = page.run(f"{BUTTON} view.look(36560); for (let n = 0; n < 7; n++) button(2).click(); {drawn}")
    assert min(near["epoch"], near["order"], near["fetch"]) >= 1 and near["stopped"] == 0
    assert {"OFFSET_FOR_LEADER_EPOCH", "LEADER_AND_ISR"} & {name.removesuffix(" ↩") for name in near["named"]}
    unchosen = page.run(f"document.querySelector('#messages input[value=fetch]').click(); {drawn}")
    assert unchosen["fetch"] == 0 and unchosen["all"] == near["all"] - near["fetch"]
    listed = page.run(
        """const listed = document.getElementById('listed'); listed.open = true; await frame();
        return [...listed.querySelectorAll('li')].map((one) => one.textContent);"""
    )
    assert len(listed) == unchosen["all"]
    assert any("OFFSET_FOR_LEADER_EPOCH, broker-0 to broker-1" in one for one in listed)


def test_everything_is_reached_and_done_by_keyboard(page: Browser) -> None:
    from selenium.webdriver import ActionChains, Keys

    def press(*keys: str) -> Any:
        ActionChains(page.driver).send_keys(*keys).perform()
        return page.run(
            """await frame(); const one = document.activeElement, style = getComputedStyle(one);
            return {who: one.id || one.dataset.by || one.dataset.to || one.value || one.tagName,
              seen: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1,
              moment: document.querySelector('#moment output').textContent,
              valuetext: document.getElementById('at').getAttribute('aria-valuetext'),
              begin: document.querySelector('.plot').viewBox.baseVal.x};"""
        )

    page.run("document.querySelector('header a:last-of-type').focus(); document.activeElement.blur(); return 1;")
    met = []
    for _ in range(22):
        now = press(Keys.TAB)
        met.append(now["who"])
        assert now["seen"], now
    assert {"2", "fetch", "ensemble", "picture", "-1", "at", "1"} <= set(met), met
    page.run("document.getElementById('at').focus(); view.look(20000); return 1;")
    later = press(Keys.ARROW_RIGHT)
    assert later["moment"] == later["valuetext"] == "20.00 s" and press(*[Keys.ARROW_RIGHT] * 20)["moment"] == "20.02 s"
    assert press(Keys.HOME)["moment"] == "0.00 s" and press(Keys.END)["moment"] == "38.62 s"
    page.run("document.querySelector('[data-to=\"-1\"]').focus(); return 1;")
    assert press(Keys.ENTER)["moment"] == "36.56 s", "the change of a log before"
    page.run("document.getElementById('picture').focus(); return 1;")
    assert press(Keys.ARROW_RIGHT)["moment"] == "36.94 s", "all of the picture is in sight: the moment moves"
    press("+", "+", "+", "0", "+", "+")
    before = press("+")
    after = press(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    assert after["begin"] < before["begin"] and after["moment"] == before["moment"]


def test_ten_thousand_events_are_a_page_of_a_bounded_size_that_draws_a_bounded_number_of_things(
    browser: Browser, pages: dict[str, Path]
) -> None:
    assert pages[WORKLOAD].stat().st_size < 400_000
    browser.open(pages[WORKLOAD])
    seen = browser.run(
        f"""{BUTTON} const counts = [];
        for (let n = 0; n < 12; n++) {{ view.look(n * 2500); button(2).click(); await frame();
          counts.push(document.querySelector('.overlay').querySelectorAll('*').length); }}
        return {{most: Math.max(...counts), all: document.querySelectorAll('*').length,
          partitions: document.querySelectorAll('.picture').length}};"""
    )
    assert seen["most"] < 1_500 and seen["all"] < 12_000 and seen["partitions"] == 2
    chosen = browser.run(
        """const choice = document.getElementById('partition'); choice.value = '1';
        choice.dispatchEvent(new Event('change')); await frame();
        return [view.picture(), document.querySelectorAll('.picture:not([hidden])').length,
          document.querySelectorAll('#logs .whole svg').length];"""
    )
    assert chosen == [1, 1, 3]
    assert browser.complaints() == []


def test_a_script_that_is_not_the_pages_own_does_not_run(browser: Browser, pages: dict[str, Path]) -> None:
    """The browser blocks foreign scripts even without escaping, and reports each block."""
    text = pages[ISOLATED].read_text(encoding="utf-8")
    changed = pages[ISOLATED].with_name("changed.html")
    hostile = "<script>document.title = 'hit'</script><img src=x onerror=\"document.title = 'hit'\">"
    changed.write_text(text.replace("<main>", f"<main>{hostile}"), encoding="utf-8")
    browser.open(changed)
    assert browser.driver.title.startswith("An isolated leader")
    assert len(browser.complaints()) >= 2


def test_a_run_without_events_has_a_page_that_complains_of_nothing(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    verdict = Verdict(
        run="r", scenario="", world="network", valid="unknown", expectations=[], faults=[], checks={}, measures={}
    )
    browser.open(write_report(tmp_path, verdict))
    assert browser.run("document.querySelector('[data-by=\"2\"]').click(); view.look(5); await frame(); return 1;") == 1
    assert browser.complaints() == []


def test_without_scripts_the_text_the_picture_and_the_logs_as_they_ended_are_there(
    browser: Browser, pages: dict[str, Path]
) -> None:
    from selenium.webdriver.common.by import By

    browser.open(pages[ISOLATED], scripts=False)
    shown = {
        one: browser.driver.find_element(By.CSS_SELECTOR, one).is_displayed()
        for one in ("#zoom", "#messages", "#moment", "#logs", "#ended table", ".plot", "#promises", ".key")
    }
    assert shown == {"#zoom": False, "#messages": False, "#moment": False, "#logs": False, "#ended table": True,
                     ".plot": True, "#promises": True, ".key": True}  # fmt: skip
    browser.open(pages[ISOLATED])


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_a_page_of_advice_fits_leads_to_why_and_lets_a_command_be_copied(
    browser: Browser, tmp_path: Path, width: int
) -> None:
    page = tmp_path / "advice.html"
    page.write_text(page_of(sample_advice()), encoding="utf-8")
    browser.open(page, width=width, dark=width == NARROW)
    seen = browser.run(
        """const link = document.querySelector('.matrix a'); link.focus(); link.click(); await frame();
        const style = getComputedStyle(document.querySelector('.broken:target'));
        return {wide: document.documentElement.scrollWidth, at: location.hash, marked: style.outlineStyle,
          copies: document.querySelectorAll('button.copy').length,
          scrolls: [...document.querySelectorAll('.scroll')].every((one) => one.tabIndex === 0)};"""
    )
    assert seen["wide"] <= width and seen["at"].endswith(".lost-acknowledged") and seen["marked"] == "solid"
    assert seen["copies"] == 2 and seen["scrolls"]
    assert browser.complaints() == []
