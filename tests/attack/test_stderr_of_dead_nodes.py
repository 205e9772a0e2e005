"""The supervisor reports any last output of a dying process."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from emulator.cluster.machine_faults import last_word
from emulator.worlds.network.processes import Processes
from emulator.worlds.network.reports import NodeExit
from emulator.worlds.network.supervision import Supervised
from protocol.events import NodeStopped


@pytest.mark.parametrize(
    ("printed", "reported"),
    [
        (b"one\ntwo\n", "two"),
        (b"\xff\xfe words\n", "\ufffd\ufffd words"),
        (b"x" * 100_000 + b"\nlast\n", "last"),
        (b"", "exited with code 1 and no output (see its events)"),
        (None, "exited with code 1 and no output (see its events)"),
    ],
)
def test_the_last_line_of_what_it_printed(tmp_path: Path, printed: bytes | None, reported: str) -> None:
    output = tmp_path / "output" / "broker-0.1.txt"
    output.parent.mkdir()
    if printed is not None:
        output.write_bytes(printed)
    lives = SimpleNamespace(_orders=SimpleNamespace(run_dir=tmp_path), exits=[NodeExit("broker-0", 1, 1, False, 0.0)])
    assert Processes._dying_words(lives, "broker-0", Supervised(incarnation=1)) == reported  # type: ignore[arg-type]


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "output").mkdir()
    (tmp_path / "secret").write_text("secret\n")
    (tmp_path / "output" / "broker-0.1.txt").symlink_to(tmp_path / "secret")
    lives = SimpleNamespace(_orders=SimpleNamespace(run_dir=tmp_path), exits=[NodeExit("broker-0", 1, 1, False, 0.0)])
    words = Processes._dying_words(lives, "broker-0", Supervised(incarnation=1))  # type: ignore[arg-type]
    assert words == "exited with code 1 and no output (see its events)"


def stopped(reason: str, node: str = "broker-0") -> str:
    fields = {"format": 1, "run": "r", "event": "node_stopped", "node": node, "incarnation": 2, "seq": 9, "at_ms": 1.0}
    return json.dumps(fields | {"code": 1, "reason": reason, "kind": "storage-failed"}) + "\n"


@pytest.mark.parametrize("own", ["", "broker-0/"])
def test_the_last_word_of_a_life_is_its_own_wherever_it_lived(tmp_path: Path, own: str) -> None:
    """Output of another node or incarnation, and bytes on the wire, do not count."""
    files = {
        f"{own}broker-0.2.jsonl": stopped("an older one") + stopped("no space left") + "torn",
        f"{own}broker-0.1.jsonl": stopped("its life before"),
        f"{own}broker-0.2.wire.jsonl": stopped("on the wire"),
        "broker-1/broker-0.2.jsonl": stopped("said by another"),
    }
    for name, text in files.items():
        path = tmp_path / "events" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    exits = [NodeExit("broker-0", 1, 9, False, 0.0), NodeExit("broker-0", 2, 1, False, 1.0)]
    cluster = SimpleNamespace(run_dir=tmp_path, exits=exits)
    assert last_word(cluster, "broker-0") == NodeStopped(1, "no space left", "storage-failed")  # type: ignore[arg-type]
    (tmp_path / "events" / own / "broker-0.2.jsonl").unlink()
    assert last_word(cluster, "broker-0") == NodeStopped(1, "exited with code 1 and no output")  # type: ignore[arg-type]
