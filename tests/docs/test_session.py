"""The recorded session: its file, the picture of it, and the validity of its commands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from xml.etree import ElementTree

import pytest
from cyclopts import CycloptsError

from docs.session.borders import LINES
from docs.session.cast import Cast, as_text, parsed
from docs.session.session_svg import CAST
from docs.session.story import STORY
from docs.session.terminal_screen import Part, commands_of, parts_of, text_of
from emulator.cli.app import app
from emulator.cluster.dashboard.keys import Typed

ROOT = Path(__file__).parents[2]
PICTURE = "docs/session.svg"
PICTURE_BYTES_MAX = 250_000
PICTURE_HEIGHT_MAX = 1_200
SVG = "{http://www.w3.org/2000/svg}"
_CONSOLE = re.compile(r"^```\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def recording() -> Cast:
    return parsed((ROOT / CAST).read_text(encoding="utf-8"))


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


# --- commands -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [step.command for part in STORY for step in part.steps])
def test_a_command_of_the_recording_is_ours(command: str) -> None:
    program, _, rest = command.partition(" ")
    assert program == "faultline"
    assert is_ours(rest)


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
