"""Output of findings, and the part of them that is left for `status`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from pathlib import Path

import msgspec
import pytest

from audit.following.finding import Findings, Seen
from audit.following.live_audit_output import SHOWN_MAX, End, Telling
from emulator.cli.app import main
from emulator.cluster.newest_findings import FINDINGS_MAX, FOLLOWING_FILE, read_newest
from tests.audit.following.folding import folded
from tests.audit.trace import dual_leader

END = End(
    state="over", run="r", read_to_ms=12_345.0, events=7, counts={"dual-leader": 2, "leader-change": 1},
    violations={"dual-leader": 1}, withdrawn=0, late=0, unavailable_ms={"az-0": 1_500.0, "az-1": None, "az-2": 0.0},
    lacking=["1 lines are no events"], exit_code=1,
)  # fmt: skip


def test_a_line_has_time_finding_place_nodes_and_events(tmp_path: Path) -> None:
    printed: list[str] = []
    telling = Telling(tmp_path, printed.append, printed.append, json=False)
    followed, lines = folded(dual_leader())
    telling.lines(lines[:3], followed.findings.violations, 100.0)
    telling.end(END)
    assert "".join(printed) == (
        "    0.026 s  · leader-change     t-0: broker-1 leads (epoch 1), before it broker-0 (epoch 0)  [broker-1.1/6]\n"
        "    0.026 s  ✗ dual-leader       t-0: over: broker-0 (epoch 0) went on leading after broker-1 (epoch 1) had"
        " begun, for 31 ms: 3 batches appended, 3 records acknowledged  [broker-0.1/2, broker-1.1/6, broker-0.1/8]\n"
        "    0.032 s  ✗ lost-acknowledged t-0: 'c' of client-0.1:3 was acknowledged (acks=1) at offset 2; the leader,"
        " broker-1 (epoch 1), does not have it  [client-0.1/13, broker-1.1/6]\n"
        "the run is over, read to 12.345 s; violated so far: dual-leader 1\n"
        "  also found: dual-leader 1, leader-change 1\n"
        "  unavailable: az-0 1500 ms\n"
        "  lacking: 1 lines are no events\n"
        "  this is provisional; the verdict is: faultline audit r\n"
    )


def test_text_reports_the_number_of_further_findings_and_json_has_every_line(tmp_path: Path) -> None:
    findings = Findings()
    seen: dict[Hashable, Seen] = {
        n: Seen(finding="lost-acknowledged", at_ms=n, to_ms=n, violation=True, text=f"no {n}") for n in range(500)
    }
    lines = list(findings.look("place", seen, 500.0, 0.0))
    shown: list[str] = []
    Telling(tmp_path, shown.append, shown.append, json=False).lines(lines, findings.violations, 500.0)
    assert "".join(shown).count("\n") == SHOWN_MAX + 1
    assert shown[0].endswith("             and 490 more of lost-acknowledged, told\n")
    printed: list[str] = []
    telling = Telling(tmp_path, printed.append, printed.append, json=True)
    telling.lines(lines, findings.violations, 500.0)
    assert [msgspec.json.decode(line)["number"] for line in printed[0].splitlines()] == list(range(1, 501))
    newest = read_newest(tmp_path)
    assert newest is not None
    assert [one.text for one in newest.newest] == [f"no {n}" for n in range(500 - FINDINGS_MAX, 500)]
    assert newest.violations == {"lost-acknowledged": 500}
    telling.close()
    assert read_newest(tmp_path) is None


def test_the_newest_are_what_stands(tmp_path: Path) -> None:
    findings = Findings()
    telling = Telling(tmp_path, len, len, json=True)  # type: ignore[arg-type]
    window = Seen(finding="dual-leader", at_ms=1.0, text="goes on")

    def look(*seen: Seen) -> list[tuple[str, bool]]:
        lines = list(findings.look("place", dict(zip(["window"], seen, strict=False)), 9.0, 0.0))
        telling.lines(lines, findings.violations, 9.0)
        newest = read_newest(tmp_path)
        assert newest is not None
        return [(one.text, one.lasts) for one in newest.newest]

    assert look(window) == [("goes on", True)]
    assert look(msgspec.structs.replace(window, to_ms=5.0, text="went on")) == [("went on", False)]
    assert look() == []
    assert +findings.counts == {} and findings.withdrawn == 1


def test_an_unwritable_directory_is_reported_once_and_the_follow_goes_on(tmp_path: Path) -> None:
    printed: list[str] = []
    warned: list[str] = []
    telling = Telling(tmp_path / "gone", printed.append, warned.append, json=False)
    followed, lines = folded(dual_leader())
    telling.lines(lines, followed.findings.violations, 100.0)
    telling.lines(lines, followed.findings.violations, 100.0)
    assert len(printed) == 2
    why = "No such file or directory: faultline status does not show these findings"
    assert warned == [f"{tmp_path}/gone/{FOLLOWING_FILE}: {why}"]


@pytest.mark.parametrize("text", [b"", b"{", b'{"newest": 1}', b"x" * 100_000])
def test_an_empty_file_is_none(tmp_path: Path, text: bytes) -> None:
    (tmp_path / FOLLOWING_FILE).write_bytes(text)
    assert read_newest(tmp_path) is None


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (["--follow"], "no cluster runs: start one with faultline up"),
        (["--follow", "nothing"], "no cluster 'nothing' runs"),
        (["--follow", "a", "b"], "--follow: takes one run, not 2"),
        (["--follow", ".", "--out", "x"], "--out: not for --follow"),
        (["--follow", "."], "not a run, it has no folder events"),
        ([], "no run given: name a run's directory"),
    ],
)
def test_what_cannot_be_followed_is_one_sentence(
    words: list[str], output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with pytest.raises(SystemExit) as ended:
        main(["audit", *words])
    assert ended.value.code == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert output in err


def test_counts_are_of_what_stands() -> None:
    assert Counter(one.finding for one in folded(dual_leader())[0].findings.standing) == {
        "dual-leader": 1, "lost-acknowledged": 3,
    }  # fmt: skip
