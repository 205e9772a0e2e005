"""What a dying process printed is told, whatever it is."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from emulator.world.network.lives import Lives
from emulator.world.network.reports import NodeExit
from emulator.world.network.supervision import Supervised


@pytest.mark.parametrize(
    ("printed", "told"),
    [
        (b"one\ntwo\n", "two"),
        (b"\xff\xfe words\n", "\ufffd\ufffd words"),
        (b"x" * 100_000 + b"\nlast\n", "last"),
        (b"", "exit code 1, no word (see its events)"),
        (None, "exit code 1, no word (see its events)"),
    ],
)
def test_the_last_line_of_what_it_printed(tmp_path: Path, printed: bytes | None, told: str) -> None:
    output = tmp_path / "output" / "broker-0.1.txt"
    output.parent.mkdir()
    if printed is not None:
        output.write_bytes(printed)
    lives = SimpleNamespace(
        _orders=SimpleNamespace(run_dir=tmp_path), exits=[NodeExit("broker-0", 1, 1, False, 0.0)]
    )
    assert Lives._dying_words(lives, "broker-0", Supervised(incarnation=1)) == told  # type: ignore[arg-type]


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "output").mkdir()
    (tmp_path / "secret").write_text("secret\n")
    (tmp_path / "output" / "broker-0.1.txt").symlink_to(tmp_path / "secret")
    lives = SimpleNamespace(
        _orders=SimpleNamespace(run_dir=tmp_path), exits=[NodeExit("broker-0", 1, 1, False, 0.0)]
    )
    words = Lives._dying_words(lives, "broker-0", Supervised(incarnation=1))  # type: ignore[arg-type]
    assert words == "exit code 1, no word (see its events)"
