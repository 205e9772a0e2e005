"""The pages of docs/: generated ones match the code, links resolve, named things exist."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from docs.generate import pages
from docs.generate.rules_page import anchor, citations, rows_of, rules_of, section_of
from docs.generate.uses import modules
from emulator.judging.fuzzing.rule_references import Page, cited
from emulator.settings.setting_registry import REGISTRY
from protocol.events import EVENTS
from protocol.gates import GATES

ROOT = Path(__file__).parents[2]
# What people wrote; recordings and their README are kept as they came.
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").rglob("*.md")])
PAGES_OF_RULES: tuple[Page, ...] = ("semantics", "kraft-semantics")
FEATURES = {"eligible.leader.replicas.version"}
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


def words_of(path: Path) -> str:
    """A document without its blocks of code, which hold output and examples."""
    return _FENCE.sub("", path.read_text(encoding="utf-8"))


def anchors_of(path: Path) -> set[str]:
    """Every heading as it is addressed; a repeated one gets -1, -2, ..."""
    found: set[str] = set()
    seen: Counter[str] = Counter()
    for line in words_of(path).splitlines():
        if line.startswith("#"):
            name = anchor(line.lstrip("# "))
            found.add(f"{name}-{seen[name]}" if seen[name] else name)
            seen[name] += 1
    return found


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.slow
def test_generated_pages_are_up_to_date() -> None:
    # Figures follow what `make bench` last measured, on whatever machine: that must not break a test.
    stale = set(pages.outdated(ROOT)) - {"docs/figures.md"}
    assert stale == set(), "run `make docs` and commit what it writes"


def test_a_generated_page_that_is_missing_or_was_edited_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "PAGES", dict.fromkeys(("kept.md", "edited.md", "missing.md"), lambda root: "made\n"))
    (tmp_path / "kept.md").write_text("made\n", encoding="utf-8")
    (tmp_path / "edited.md").write_text("made, then edited\n", encoding="utf-8")
    assert pages.outdated(tmp_path) == {"edited.md": "made\n", "missing.md": "made\n"}


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_links_lead_somewhere(document: Path) -> None:
    broken = []
    for target in _LINK.findall(words_of(document)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, heading = target.partition("#")
        path = (document.parent / name).resolve() if name else document
        if not path.exists() or (heading and heading not in anchors_of(path)):
            broken.append(target)
    assert broken == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_modules_that_are_named_exist(document: Path) -> None:
    """`emulator/machines/broker/replica_log.py` in a document is a path.

    It starts at the root, or at the document. A how-to's reader makes a `New file`.
    """
    paths = re.findall(r"(?<!^New file )`((?:[\w.@*-]+/)+[\w.@*-]*)`", words_of(document), re.MULTILINE)
    ours = [path for path in paths if (ROOT / path.split("/")[0]).is_dir() and not re.search(r"[A-Z*]{2}|[*]", path)]
    results = ("runs/", "benchmarks/results", "verification/results")
    made_by_commands = [path for path in ours if path.startswith(results)]
    assert [path for path in ours if not (ROOT / path).exists() and path not in made_by_commands] == []


@pytest.mark.parametrize(
    ("page", "names_of_others", "settings_of_others"),
    [("semantics", {"max_bytes"}, {"inter.broker.protocol.version"}), ("kraft-semantics", set(), FEATURES)],
)
def test_gates_and_events_that_semantics_names_exist(
    page: Page, names_of_others: set[str], settings_of_others: set[str]
) -> None:
    """A name in backquotes with an underscore is a gate, an event, its field, or a module."""
    text = words_of(ROOT / "docs" / f"{page}.md")
    known = {*GATES, *EVENTS, *(name for event in EVENTS.values() for name in event.__struct_fields__)}
    names = set(re.findall(r"`([a-z]+(?:_[a-z]+)+)`", text))
    assert names - known == names_of_others
    settings = set(re.findall(r"`([a-z]+(?:\.[a-z]+){2,})`", text))
    clients = {"retry.backoff.ms", "delivery.timeout.ms", "auto.offset.reset", "max.message.bytes"}
    clients |= {"enable.auto.commit", "auto.commit.interval.ms", "default.api.timeout.ms", "session.timeout.ms"}
    clients |= {"heartbeat.interval.ms", "max.poll.interval.ms", "reconnect.backoff.ms", "reconnect.backoff.max.ms"}
    clients |= {"socket.connection.setup.timeout.ms", "socket.connection.setup.timeout.max.ms", "max.block.ms"}
    clients |= {"fetch.max.wait.ms", "metadata.max.age.ms"}
    assert settings - set(REGISTRY) - clients == settings_of_others - set(REGISTRY)


def test_every_gate_is_documented_in_a_page() -> None:
    """A page of semantics, or the list of what is not modelled, documents each gate."""
    pages_of_gates = ("semantics", "kraft-semantics", "not-modelled")
    reported = "".join(words_of(ROOT / "docs" / f"{name}.md") for name in pages_of_gates)
    untold = [name for name in GATES if f"`{name}`" not in reported]
    assert untold == []


def test_every_rule_is_named_by_a_test() -> None:
    """A blank in docs/rules.md is a rule that nothing proves."""
    assert "Named by no test" not in pages.PAGES["docs/rules.md"](ROOT)


@pytest.mark.parametrize("page", PAGES_OF_RULES)
def test_rules_that_docstrings_name_exist(page: Page) -> None:
    """`semantics 1.5` in a docstring is a section of docs/semantics.md.

    That of KRaft is a section, or a row of a table, of docs/kraft-semantics.md.
    """
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    rules = rules_of(text)
    known = {*rules, *(number.partition(".")[0] for number in rules), *rows_of(text)}
    unknown = {
        f"{path.relative_to(ROOT)}: {rule}"
        for path in modules(ROOT, ("protocol", "controller", "emulator", "audit", "tests"))
        for rule in citations(path, page)
        if rule not in known
    }
    assert unknown == set()


def test_no_docstring_of_kraft_names_rules_of_zookeeper_mode() -> None:
    kraft = modules(ROOT, ("controller/kraft", "controller/quorum", "tests/controller/kraft"))
    assert [path for path in kraft if citations(path)] == []


def test_numbered_rows_are_in_their_sections_and_in_order() -> None:
    text = (ROOT / "docs" / "kraft-semantics.md").read_text(encoding="utf-8")
    rules = rules_of(text)
    section = ""
    before: tuple[int, ...] = ()
    misplaced: list[str] = []
    for line in text.splitlines():
        if line.startswith("## ") or line.startswith("### "):
            section = line.lstrip("# ").partition(" ")[0].rstrip(".")
        for row in rows_of(line):
            place = tuple(map(int, row.split(".")))
            if section_of(row, rules) != section or place < before:
                misplaced.append(row)
            before = place
    assert misplaced == []
    assert before > (9,)


@pytest.mark.parametrize(("number", "section"), [("2.8", "2"), ("3.1.3", "3.1"), ("3.1", "3.1"), ("1", "1")])
def test_a_row_stands_for_its_section(number: str, section: str) -> None:
    assert section_of(number, {"2", "3.1"}) == section


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("(semantics 1.5)", {"1.5"}),
        ("Semantics 1.2, 1.9.", {"1.2", "1.9"}),
        ("Rules: semantics 1.1 to 1.4.", {"1.1", "1.2", "1.3", "1.4"}),
        ("semantics 2.1 and 3", {"2.1", "3"}),
        ("semantics 4.2: what each event does", {"4.2"}),
        ("docs/semantics.md 3: .tmp, fsync", {"3"}),
        ("1.5 times the semantics of it", set()),
        ("Rules: semantics 1 to 3.", {"1", "2", "3"}),
        ("semantics 1.3 to 2.1", {"1.3", "2.1"}),
        ("kraft-semantics 1.5", set()),
        ("semantics 1.5, 2.0.1", {"1.5"}),
        ("semantics 1.6, kraft-semantics 3.1", {"1.6"}),
    ],
)
def test_how_a_docstring_names_rules(text: str, numbers: set[str]) -> None:
    assert cited(text) == numbers


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("(semantics 1.5)", set()),
        ("semantics 1.6, kraft-semantics 3.1", {"3.1"}),
        ("Kraft-semantics 3.1.3.", {"3.1.3"}),
        ("kraft-semantics 2.8 and 3.4", {"2.8", "3.4"}),
        ("kraft-semantics 3.1.4 to 3.1.6", {"3.1.4", "3.1.5", "3.1.6"}),
        ("docs/kraft-semantics.md 3 to 5", {"3", "4", "5"}),
    ],
)
def test_how_a_docstring_names_rules_of_kraft(text: str, numbers: set[str]) -> None:
    assert cited(text, "kraft-semantics") == numbers


@pytest.mark.parametrize(
    "word",
    [
        r"/work/",
        r"/tmp/",
        r"/home/",
        r"/root/",
        r"pypi\.|artifactory|/simple/?\b",
        r"\.\./shared",
        r"kafka-semantics\.md",
    ],
)
def test_no_file_depends_on_one_machine(word: str) -> None:
    """No path of a machine, no registry, no file outside the project, in anything we wrote."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=True,
    ).stdout.split()
    here = Path(__file__).relative_to(ROOT).as_posix()
    # Every container has its own /tmp, and Kafka's own default of log.dir is there, as in its files.
    kafkas = (
        *("compose/", "emulator/settings/tables/log_setting_table.py", "docs/settings.md"),
        "tests/emulator/settings/files/",
    )
    elsewhere = ("tests/golden/", *kafkas) if word == r"/tmp/" else ("tests/golden/",)
    ours = [name for name in listed if not name.startswith(elsewhere) and name != here]
    found = [
        name
        for name in ours
        if (path := ROOT / name).is_file() and re.search(word, path.read_text(encoding="utf-8", errors="replace"))
    ]
    assert found == []
