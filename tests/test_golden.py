"""The golden recordings are unchanged: `golden/SHA256SUMS` names every file and its digest."""

import hashlib
import shutil
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"


def golden_problem(folder: Path) -> str | None:
    """The fault of a copy of the recordings, in one line; None when it is whole."""
    sums = folder / "SHA256SUMS"
    if not sums.is_file():
        return f"{sums}: missing, so the recordings cannot be trusted; restore tests/golden from the repository"
    digests = {name: digest for digest, name in (line.split("  ", 1) for line in sums.read_text().splitlines())}
    found = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file() and p != sums}
    missing = sorted(set(digests) - found)
    unknown = sorted(found - set(digests))
    altered = sorted(
        name
        for name in found & set(digests)
        if hashlib.sha256((folder / name).read_bytes()).hexdigest() != digests[name]
    )
    faults = [
        f"{kind}: {', '.join(names[:3])}{f' and {len(names) - 3} more' if len(names) > 3 else ''}"
        for kind, names in (("missing", missing), ("altered", altered), ("not in SHA256SUMS", unknown))
        if names
    ]
    return f"golden recordings in {folder.name}/ are not as recorded ({'; '.join(faults)})" if faults else None


def test_the_recordings_are_as_recorded() -> None:
    problem = golden_problem(GOLDEN)
    assert problem is None, problem
    assert len(list(GOLDEN.glob("*/*.json"))) == 201


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("missing", "golden recordings in copy/ are not as recorded (missing: min-insync@2.8/1.json)"),
        ("altered", "golden recordings in copy/ are not as recorded (altered: min-insync@2.8/1.json)"),
        (
            "unknown",
            "golden recordings in copy/ are not as recorded (not in SHA256SUMS: min-insync@2.8/3.json)",
        ),
    ],
)
def test_a_damaged_copy_is_named_in_one_line(tmp_path: Path, damage: str, message: str) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(GOLDEN, copy)
    victim = copy / "min-insync@2.8" / "1.json"
    if damage == "missing":
        victim.unlink()
    elif damage == "altered":
        victim.write_text(victim.read_text().replace('"error": 20', '"error": 19', 1))
    else:
        shutil.copy(victim, victim.with_name("3.json"))
    assert golden_problem(copy) == message
