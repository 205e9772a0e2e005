"""The recorded session: its file, its rendering, the picture, and its commands' validity."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from xml.etree import ElementTree

import pytest
from cyclopts import CycloptsError

from docs.session.borders import LINES, strokes
from docs.session.cast import Cast, Event, Header, NoCast, as_text, parsed
from docs.session.recorded_terminal import NotSeen, Terminal
from docs.session.session_svg import CAST, picture
from docs.session.story import STORY
from docs.session.terminal_screen import LINES_MAX, Part, TooLong, commands_of, parts_of, text_of
from emulator.cli.app import app
from emulator.cluster.dashboard.keys import Typed

ROOT = Path(__file__).parents[2]
PICTURE = "docs/session.svg"
PICTURE_BYTES_MAX = 250_000
PICTURE_HEIGHT_MAX = 1_200
SVG = "{http://www.w3.org/2000/svg}"
_CONSOLE = re.compile(r"^```\n(.*?)^```", re.DOTALL | re.MULTILINE)
HEADER = Header(2, 20, 10)


@pytest.fixture(scope="module")
def recording() -> Cast:
    return parsed((ROOT / CAST).read_text(encoding="utf-8"))


def shown(*outputs: str, width: int = 20) -> list[Part]:
    events = [Event(0.0, "m", "all"), *(Event(float(at), "o", text) for at, text in enumerate(outputs))]
    return parts_of(Cast(Header(2, width, 10), tuple(events)))


def texts(part: Part) -> list[str]:
    return [text_of(line) for line in part.lines]


def is_ours(command: str) -> bool:
    """True if the command line accepts the command with these options.

    `command`: as one types it, after `faultline`.
    """
    words = shlex.split(command.partition(" > ")[0], comments=True)
    try:
        app.parse_args(words, exit_on_error=False, print_error=False)
    except CycloptsError:
        return False
    return not words or words[0] in app


# --- the recording --------------------------------------------------------------------------------------------------


def test_the_recording_is_of_the_story(recording: Cast) -> None:
    parts = parts_of(recording)
    assert [part.caption for part in parts] == [part.caption for part in STORY]
    assert commands_of(parts) == [step.command for part in STORY for step in part.steps]
    for part, reported in zip(parts, STORY, strict=True):
        text = " ".join(texts(part))
        assert [step.shows for step in reported.steps if step.shows not in text] == []


def test_the_recording_shows_what_it_is_there_for(recording: Cast) -> None:
    """The recording shows two leaders at once, and the keys of a watch.

    It has other records at the same offsets; after the heal none of them.
    """
    _, cut, written, healed, audited = map(texts, parts_of(recording))
    assert any("DUAL LEADER of t-0" in line for line in cut)
    assert cut[-1] == Typed().line()
    offsets = re.compile("[234] ")
    assert [line.split()[2] for line in written if offsets.match(line)] == ["c", "d", "e"]
    assert [line.split()[4] for line in written if offsets.match(line)] == ["f", "g", "h"]
    assert [line.split()[2] for line in healed if offsets.match(line)] == ["f", "g", "h"]
    assert any(re.search(r"lost-acknowledged +violated 3", line) for line in audited)
    assert audited[-1].startswith("three-az is down") and audited[-2].endswith("faultline down"), "of no other cluster"


def test_a_recording_is_read_as_it_was_written(recording: Cast) -> None:
    assert parsed(as_text(recording.header, recording.events)) == recording


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("", "line 1"),
        ('{"version": 1, "width": 80, "height": 24}\n', "line 1"),
        (as_text(HEADER, []) + '[0.1, "o"]\n', "line 2"),
        (as_text(HEADER, [Event(0.0, "o", "a")]) + '[0.1, "x", "b"]\n', "line 3"),
        (as_text(HEADER, [Event(2.0, "o", "a"), Event(1.0, "o", "b")]), "order of time"),
    ],
)
def test_what_is_no_recording_is_refused(text: str, output: str) -> None:
    with pytest.raises(NoCast, match=output):
        parsed(text)


# --- the screen -----------------------------------------------------------------------------------------------------


def test_what_is_drawn_again_is_shown_once() -> None:
    """As `status --watch` does: up by lines, each erased."""
    [part] = shown("one\r\ntwo\r\n", "\x1b[1A\x1b[2K\x1b[1A\x1b[2K", "three\r\nfour\r\n")
    assert texts(part) == ["three", "four"]


def test_colours_are_kept_and_faint_is_grey() -> None:
    [part] = shown("\x1b[1;31ma\x1b[0m\x1b[2mb\x1b[0m\x1b[7;32mc\x1b[0m\x1b[38;5;244md\x1b[0m\r\n")
    a, b, c, d = part.lines[0][:4]
    assert (a.color, a.bold) == ("red", True)
    assert (b.color, b.bold) == ("brightblack", False)
    assert (c.color, c.ground) == ("paper", "green")
    assert d.color == "808080"


def test_leading_blanks_stay_and_empty_lines_at_the_end_go() -> None:
    [part] = shown("\r\n   a  b\r\n\r\n\r\n")
    assert texts(part) == ["", "   a  b"]


def test_a_part_begins_at_its_marker() -> None:
    events = [Event(0, "m", "first"), Event(0, "o", "a\r\nb\r\n$ "), Event(1, "m", "second"), Event(2, "o", "c\r\n")]
    assert [(part.caption, texts(part)) for part in parts_of(Cast(HEADER, tuple(events)))] == [
        ("first", ["a", "b"]),
        ("second", ["$ c"]),
    ]


def test_a_recording_that_does_not_fit_is_refused() -> None:
    with pytest.raises(TooLong, match=str(LINES_MAX)):
        shown("\r\n" * LINES_MAX)


# --- the picture ----------------------------------------------------------------------------------------------------


def test_the_guide_shows_the_picture_and_it_is_of_the_recording(recording: Cast) -> None:
    """Every generated page's test checks that it is of this recording (test_pages)."""
    assert "](session.svg)" in (ROOT / "docs" / "live.md").read_text(encoding="utf-8")
    written = (ROOT / PICTURE).read_bytes()
    assert len(written) < PICTURE_BYTES_MAX
    tree = ElementTree.fromstring(written)
    letters = "".join(text.text or "" for text in tree.iter(f"{SVG}text") if text.get("class") not in ("n", "c"))
    drawn = [part for part, reported in zip(parts_of(recording), STORY, strict=True) if reported.drawn]
    assert drawn and float(tree.get("height", "inf")) <= PICTURE_HEIGHT_MAX
    reported = "".join(cell.char for part in drawn for line in part.lines for cell in line)
    assert letters == "".join(char for char in reported if not char.isspace() and char not in LINES)


def test_every_letter_of_the_picture_has_its_own_place() -> None:
    parts = shown("a <b> & \x1b[41m x\x1b[0m\r\n  │━\r\n")
    tree = ElementTree.fromstring(picture("<t>", parts, 20))
    letters = [text for text in tree.iter(f"{SVG}text") if text.get("class") not in ("n", "c")]
    placed: dict[float, str] = {}
    for text in letters:
        places = [float(x) for x in (text.get("x") or "").split()]
        placed |= dict(zip(places, text.text or "", strict=True))
    assert placed == {16.0: "a", 32.0: "<", 40.0: "b", 48.0: ">", 64.0: "&", 88.0: "x"}
    assert [rect.get("width") for rect in tree.iter(f"{SVG}rect") if rect.get("fill") == "#b62324"] == ["16"]


def test_an_unknown_colour_is_not_drawn_as_another() -> None:
    parts = shown("\x1b[93ma\x1b[90mb\x1b[38;5;141mc\r\n")
    assert re.findall(r"fill:(#\w+)\" y", picture("t", parts, 20)) == ["#e3b341", "#7d8590", "#af87ff"]


@pytest.mark.parametrize("char", sorted(LINES))
def test_frames_stay_in_their_cell(char: str) -> None:
    """Absolute places of a path between the cell's corners (100, 200) and (108, 218)."""
    assert strokes(char, 100, 200, 8, 18)
    for path, _ in strokes(char, 100, 200, 8, 18):
        for command, numbers in re.findall(r"([MLQVH])([\d. -]+)", path):
            values = [float(number) for number in numbers.split()]
            across = values if command == "H" else [] if command == "V" else values[::2]
            along = values if command == "V" else [] if command == "H" else values[1::2]
            assert all(100 <= x <= 108 for x in across), path
            assert all(200 <= y <= 218 for y in along), path


# --- commands -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [step.command for part in STORY for step in part.steps])
def test_a_command_of_the_recording_is_ours(command: str) -> None:
    program, _, rest = command.partition(" ")
    assert program == "faultline"
    assert is_ours(rest)


@pytest.mark.parametrize("command", ["cutt az-0", "produce t a --ack all", "produce", "topic creat t"])
def test_a_command_that_is_not_ours_is_noticed(command: str) -> None:
    assert not is_ours(command)


@pytest.mark.parametrize("document", ["README.md", "docs/first-steps.md", "docs/compose.md"])
def test_commands_in_documents_are_ours(document: str) -> None:
    blocks = _CONSOLE.findall((ROOT / document).read_text(encoding="utf-8"))
    # A statement over several lines is one command; what is made of its output is not ours.
    commands = [re.sub(r"\n    +", " ", found).partition(" | ")[0] for block in blocks for found in _typed(block)]
    assert commands
    assert [command for command in commands if not is_ours(command)] == []


def _typed(block: str) -> list[str]:
    """After a prompt where there is one; else the lines that begin with the command."""
    return re.findall(r"^(?:\$ )?faultline (.*(?:\n    +\S.*)*?\"$|[^\"\n]*$)", block, re.MULTILINE)


# --- the terminal ---------------------------------------------------------------------------------------------------


def test_a_terminal_records_what_is_typed_and_shown(tmp_path: Path) -> None:
    (tmp_path / "told").write_text("one\ntwo\n", encoding="utf-8")
    with Terminal(tmp_path, {"PATH": "/usr/bin:/bin"}, 40, 10) as terminal:
        terminal.mark("only")
        terminal.run("printf 'x%sy' 1", "x1y", 10.0)
        terminal.run("tail -f told", "one", 10.0, interrupt="two")
        [part] = parts_of(Cast(Header(2, 40, 10), tuple(terminal.events)))
    assert texts(part) == ["$ printf 'x%sy' 1", "x1y", "$ tail -f told", "one", "two", "^C"]
    assert [event.at_s for event in terminal.events] == sorted(event.at_s for event in terminal.events)


def test_a_command_that_does_not_show_what_it_should_ends_the_recording(tmp_path: Path) -> None:
    missing = pytest.raises(NotSeen, match=r"'y2' was not shown, but .*y1")
    with Terminal(tmp_path, {"PATH": "/usr/bin:/bin"}, 40, 10) as terminal, missing:
        terminal.run("printf y%s 1", "y2", 10.0)
