"""Generated recordings: real ones in which values are others or gone."""

import json
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final

GOLDEN: Final = Path(__file__).parent / "golden"
RECORDING: Final = GOLDEN / "az-isolated-leader@2.8" / "1.json"
WRONG: Final[tuple[Any, ...]] = (
    None, True, -1, 0, 99, 2**31, 2**63, 10**400, 1.5, 1e300, "", "x", "\ud800", "a" * 300, "0", [], [[]], {}, {"a": 1},
    [99], "session service answers", ["a"] * 20_000,
)  # fmt: skip


@cache
def _recordings() -> tuple[Path, ...]:
    return tuple(sorted(path for path in GOLDEN.glob("*/1.json")))


def recording_of(number: int) -> bytes:
    """A recording with one to three changed values; every second is of RECORDING."""
    chance = Random(number)
    path = RECORDING if number % 2 else chance.choice(_recordings())
    document = json.loads(path.read_text(encoding="utf-8"))
    for _ in range(1 if number % 4 < 2 else chance.randint(1, 3)):
        _change(chance, document)
    return json.dumps(document).encode()


def _change(chance: Random, document: Any) -> None:
    timeline = document.get("timeline")
    entries = [one for one in timeline if isinstance(one, dict) and "do" in one] if isinstance(timeline, list) else []
    settings = document.setdefault("settings", {})
    place = chance.choice([document, settings if isinstance(settings, dict) else document, *entries, *entries])
    if not place:
        return
    key = chance.choice(list(place))
    if chance.random() < 0.2:
        del place[key]
    else:
        place[key] = chance.choice(WRONG)
