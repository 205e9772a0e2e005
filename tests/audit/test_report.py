"""The report contains the verdict's findings and needs no network.

In a browser: test_report_in_a_browser.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from audit.audited_run import write_verdict
from audit.input import AuditInputError, read_directory
from audit.report import write_report
from audit.report.legend import LEGEND
from audit.report.report_input import read_timeline
from audit.report.report_page import render
from audit.report.report_svg import EPOCH_COLOURS, Picture
from audit.report.report_timeline import Band, Node, Operation, Timeline
from audit.report.thinning import band_rows, clusters, ticks
from emulator.runs.verdict_file import LEADER_ALONE, CheckVerdict, ExpectationVerdict, FaultVerdict, Verdict
from protocol import events as e
from tests.audit.trace import Trace, dual_leader


def cut_run() -> Trace:
    """The dual leader with its cut and a kill."""
    trace = dual_leader()
    for node in ("broker-0", "broker-1"):
        trace.emit(node, e.FaultInForce("rule-1", "cut az-0"), at_ms=20.0)
        trace.emit(node, e.FaultHealed("rule-1", "cut az-0", 7), at_ms=60.0)
    trace.emit("broker-1", e.StateDecided("t", 0, 1, 1, "1,2", 1, 1, "offline-election"))
    return trace.kill("broker-2")


def verdict() -> Verdict:
    lost = CheckVerdict(
        "violated",
        True,
        3,
        [{"partition": "t-0", "offset": 2, "text": "'c' <was> lost"}],
        {"1": 3},
        7,
        "acknowledged records",
        allowed={LEADER_ALONE: 3},
    )
    window = {"partition": "t-0", "text": "two of them", "from_ms": 30.0, "to_ms": 55.0}
    return Verdict(
        run="dual-leader",
        scenario="az-isolated-leader",
        world="network",
        valid=True,
        expectations=[ExpectationVerdict("broker-1 leads <soon>", True, 1)],
        faults=[FaultVerdict("cut az-0", 20.0, 20.0, 60.0, 14, True, True)],
        checks={
            "lost-acknowledged": lost,
            "dual-leader": CheckVerdict("violated", True, 1, [window], judged=6, subject="role changes"),
            "duplicate": CheckVerdict("unknown", False, 0, [], reason="no event operation_ended was recorded"),
        },
        measures={"events": 61, "wall_s": 0.06, "unavailable_ms": {"az-0": 0.0}},
        unknown_because=[],
    )


@pytest.fixture
def page(tmp_path: Path) -> Path:
    return write_report(cut_run().write(tmp_path), verdict())


def test_the_page_contains_the_facts(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for fact in (
        "As expected", "az-isolated-leader", "lost-acknowledged",
        "3 found (3 with acks=1) among 7 acknowledged records",
        "&#x27;c&#x27; &lt;was&gt; lost", "broker-1 leads &lt;soon&gt;", "cut az-0", "two leaders", "leader, epoch 1",
        "no event operation_ended was recorded", "acknowledged and LOST at offset 2", "truncated to 2: 3 records cut",
        "broker-2: kill", "healed at 0.06 s",
    ):  # fmt: skip
        assert fact in text, fact


def test_the_page_sends_no_requests(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"""src\s*=|href\s*=\s*"[^#]|url\((?!#)|@import|https?://""", text)
    assert not re.search(r"""fetch\(|XMLHttpRequest|<link""", text)


def test_a_promise_broken_on_purpose_looks_like_neither_good_nor_bad(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert '<header class="meant"><p class="badge">As expected: 2 promises are broken on purpose</p>' in text
    assert text.count('<span class="pill meant">! violated</span>') == 2
    assert '<span class="pill bad">' not in text
    not_meant = msgspec.structs.replace(verdict(), valid=False)
    for check in not_meant.checks.values():
        check.expected = False
    broken = render(not_meant, Timeline())
    assert '<header class="bad">' in broken and broken.count('<span class="pill bad">✗ violated</span>') == 2


def test_the_page_states_what_was_played(tmp_path: Path) -> None:
    run = cut_run().write(tmp_path)
    text = "id: x\ntitle: A <title>\nsettings: {replica.lag.time.max.ms: 4000}\nsteps: []\n"
    (run / "scenario.yaml").write_text(text, encoding="utf-8")
    nodes = {f"broker-{n}": {"kafka.version": "2.6", "replica.lag.time.max.ms": 4000, "broker.id": n} for n in (0, 1)}
    reported = {"kafka": "2.6", "seed": 7, "speed": 2.0, "nodes": nodes | {"session-0": {"tickTime": 3000}}}
    (run / "settings.json").write_bytes(msgspec.json.encode(reported))
    page = write_report(run, verdict()).read_text(encoding="utf-8")
    assert "<h1>A &lt;title&gt;</h1>" in page and "<title>A &lt;title&gt;: as expected" in page
    assert "az-isolated-leader · Kafka 2.6 · real processes · clock x2 · seed 7 · 61 events · run dual-leader" in page
    assert "4 settings, 1 of them set by the scenario" in page
    plain = re.sub(' data-label="[^"]*"', "", page)
    assert "replica.lag.time.max.ms</code></td><td>4000</td><td>brokers</td><td>the scenario</td>" in plain
    assert "<td>0 (broker-0); 1 (broker-1)</td>" in plain


def test_measures_have_names_and_units_in_words_and_no_empty_row_above() -> None:
    measures = {"wall_s": 61.5, "time_to_new_leader_ms": 5835.5, "unavailable_ms": {"az-0": None, "outside": 20.0}}
    page = render(msgspec.structs.replace(verdict(), measures=measures), Timeline())
    for name, value in (
        ("The run took", "61.5 s"),
        ("From the first fault to a new leader", "5.8 s"),
        ("Writes failed, clients of az-0", "not measured: no client wrote"),
        ("Writes failed, clients outside every AZ", "20 ms"),
    ):
        assert f'<th scope="row">{name}</th><td>{value}</td>' in page, name
    assert "_ms" not in page.partition("<h2>Measures</h2>")[2].partition("</section>")[0]
    assert '<th scope="col"></th>' not in page


def test_evidence_leads_to_its_moment_in_its_picture(page: Path) -> None:
    link = r'<a class="where" href="#happened" data-at="30\.00" data-in="0">0\.03 s<'
    assert re.search(f"two of them {link}", text_of(page))


def test_a_window_that_does_not_end_is_drawn_to_the_end(tmp_path: Path) -> None:
    """The oracle says so with null."""
    reported = verdict()
    reported.checks["dual-leader"].evidence[0]["to_ms"] = None
    assert "two leaders" in text_of(write_report(cut_run().write(tmp_path), reported))


def test_every_mark_that_can_be_drawn_is_in_the_legend() -> None:
    """Each style of the picture's marks has its words."""
    for style in ("kept", "lost", "failed", "unknown", "dual", "isr", "controls", "alive", "logend", "watermark",
                  "wedge", "ensemble leading", "ensemble following", "ensemble looking", "cut", "machine",
                  *(f"e{n}" for n in range(EPOCH_COLOURS))):  # fmt: skip
        assert f'{style}"' in LEGEND, style


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def test_the_picture_marks_as_lost_what_was_lost(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.count('class="op lost"') == 3
    assert text.count('class="op kept"') == 4


def test_a_run_without_events_still_has_a_page(tmp_path: Path) -> None:
    (tmp_path / "empty" / "events").mkdir(parents=True)
    assert "<svg" in write_report(tmp_path / "empty", verdict()).read_text(encoding="utf-8")


def test_broken_and_torn_lines_are_left_to_the_verdict(tmp_path: Path) -> None:
    run = cut_run().write(tmp_path)
    with (run / "events" / "broker-0.1.jsonl").open("ab") as file:
        file.write(b'[1, 2]\n{"at_ms": "soon", "node": 1}\nnonsense\n{"format":1,"node"')
    assert "<svg" in write_report(run, verdict()).read_text(encoding="utf-8")


def test_a_big_run_is_drawn_in_part_with_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = cut_run().write(tmp_path)
    monkeypatch.setattr("audit.report.report_records.READ_MAX_BYTES", 4_000)
    timeline = read_timeline(read_directory(run))
    assert not timeline.complete
    assert "too big to be drawn whole" in render(verdict(), timeline)


def test_of_a_big_run_everything_rare_is_drawn_and_some_of_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To its end: who led last matters more than what was written first."""
    trace = Trace("long").cluster().leader(0, epoch=0)
    for offset in range(2_000):
        trace.produce(f"v{offset}", at=offset, followers=())
    trace.leader(1, epoch=1)
    run = trace.write(tmp_path)
    whole = read_timeline(read_directory(run))
    assert whole.complete
    monkeypatch.setattr("audit.report.report_records.READ_MAX_BYTES", 200_000)
    some = read_timeline(read_directory(run))
    assert not some.complete
    assert (some.end_ms, some.nodes.keys()) == (whole.end_ms, whole.nodes.keys())
    (topic_partition,) = whole.replicas
    for name, replica in whole.replicas[topic_partition].items():
        assert some.replicas[topic_partition][name].leads == replica.leads
    log_ends = some.replicas[topic_partition]["broker-0"].log_ends
    assert 20 < len(log_ends) < 1_000
    assert log_ends[-1][1] > 1_900
    assert 20 < len(some.operations) < 1_000
    assert {one.outcome for one in some.operations} == {"ok"}, "a write is drawn with its end, or not at all"


def test_partitions_that_take_turns_are_thinned_out_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One in so many of each partition, not of all.

    Otherwise one partition might be drawn whole and another not at all.
    """
    events = tmp_path / "run" / "events"
    events.mkdir(parents=True)
    lines = [
        {"format": 1, "run": "run", "node": "broker-0", "incarnation": 1, "seq": n + 1, "at_ms": n * 1.0,
         "event": "batch_appended", "topic": "t", "partition": n % 4,
         "base_offset": n, "last_offset": n, "leader_epoch": 0, "digest": n, "as_leader": True}
        for n in range(4_000)
    ]  # fmt: skip
    (events / "broker-0.1.jsonl").write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    size_bytes = (events / "broker-0.1.jsonl").stat().st_size
    monkeypatch.setattr("audit.report.report_records.READ_MAX_BYTES", size_bytes // 4 + 500)
    timeline = read_timeline(read_directory(events.parent))
    assert [len(of["broker-0"].log_ends) for _, of in sorted(timeline.replicas.items())] == [250] * 4


def test_a_cluster_that_was_used_has_no_expectations(tmp_path: Path) -> None:
    run = cut_run().write(tmp_path)
    alone = msgspec.structs.replace(verdict(), scenario="", valid=False, expectations=[])
    page = render(alone, read_timeline(read_directory(run)))
    assert "Checks are violated" in page
    assert "not expected" not in page.lower()


def test_heads_of_many_cuts_do_not_lie_on_each_other() -> None:
    """Their bands are there, and say in their tips what they are."""
    timeline = Timeline(end_ms=3_600_000.0)
    timeline.bands = [Band(f"cut az-{n % 3}", n * 60_000.0, n * 60_000.0 + 15_000.0, True) for n in range(60)]
    drawn = Picture(timeline, None).svg()
    assert drawn.count('class="cuthead"') == 60
    assert drawn.count('class="cutname"') <= 1
    assert drawn.count('class="cutname tight"') >= 59, "there is room for them when it is zoomed"
    timeline.bands = timeline.bands[::10]
    assert Picture(timeline, None).svg().count('class="cutname"') == 6


def test_the_verdict_is_read_from_the_run(tmp_path: Path) -> None:
    run = cut_run().write(tmp_path)
    with pytest.raises(AuditInputError, match=r"has no verdict\.json yet; audit it first"):
        write_report(run)
    write_verdict(verdict(), run)
    assert "As expected" in write_report(run).read_text(encoding="utf-8")
    (run / "verdict.json").write_bytes(b"{}")
    with pytest.raises(AuditInputError, match="cannot be read as a verdict"):
        write_report(run)


def test_a_long_run_has_a_bounded_page(tmp_path: Path) -> None:
    """Ten thousand writes are some hundred marks."""
    trace = Trace("long").cluster().leader(0, epoch=0)
    for offset in range(5_000):
        trace.produce(f"v{offset}", at=offset, followers=())
    page = write_report(trace.write(tmp_path), verdict())
    assert page.stat().st_size < 500_000


def test_writes_that_share_a_mark_are_separate_when_zoomed_in() -> None:
    topic_partition = ("t", 0)
    writes = [
        Operation(f"v{at_ms}", [f"v{at_ms}"], 1, 0, at_ms, topic_partition=topic_partition, outcome="ok")
        for at_ms in (500, 503, 503)
    ]
    timeline = Timeline(end_ms=1_000.0, operations=writes)
    timeline.nodes["broker-0"] = Node("broker-0", "broker", "az-0")
    drawn = Picture(timeline, topic_partition).svg()
    assert drawn.count('class="op kept coarse"') == 1 and drawn.count('class="op kept fine"') == 2
    assert "fine" not in Picture(timeline, topic_partition).alone("")


# --- thinning ---


def test_bands_that_overlap_get_rows_of_their_own() -> None:
    bands = [Band("a", 0, 10, True), Band("b", 5, 15, True), Band("c", 12, 20, True), Band("d", 13, 20, True)]
    assert band_rows(bands) == [0, 1, 0, 2]


def test_operations_with_one_result_at_one_place_are_one_mark() -> None:
    operations = [Operation(str(n), [str(n)], 1, 0, at, outcome=outcome)
                  for n, (at, outcome) in enumerate([(0, "ok"), (1, "ok"), (2, "failed"), (30, "failed")])]  # fmt: skip
    grouped = [[one.value for one in cluster] for cluster in clusters(operations, lambda at_ms: at_ms)]
    assert grouped == [["0", "1"], ["2"], ["3"]]


@pytest.mark.parametrize("end_ms", [0.0, 1.0, 7.5, 999.0, 48_274.0, 3_600_000.0, 8e9])
def test_an_axis_has_a_dozen_round_moments(end_ms: float) -> None:
    moments = ticks(end_ms)
    assert moments[0] == 0 and len(moments) <= 13 and moments[-1] <= end_ms


def test_a_timeline_can_be_kept_as_json() -> None:
    """Plain values only: what is drawn can be looked at."""
    assert msgspec.json.decode(msgspec.json.encode(Timeline()), type=Timeline) == Timeline()


def test_a_record_is_drawn_where_the_partitioner_put_it(tmp_path: Path) -> None:
    """Invoked before its partition was chosen."""
    trace = Trace().cluster()
    trace.emit("client-0", e.OperationInvoked("client-0.1:1", "produce", "t", -1, -1, "v", -1, -1))
    trace.emit("client-0", e.OperationEnded("client-0.1:1", "produce", "ok", 0, "t", 7, 3, -1, 5, -1))
    (operation,) = read_timeline(read_directory(trace.write(tmp_path))).operations
    assert operation.topic_partition == ("t", 7)
