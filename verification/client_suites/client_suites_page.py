"""Table of the suites' results in docs/kafka-clients.md."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from protocol.versions import rank
from verification.client_suites.run_suites import Played

PAGE: Final = Path(__file__).parents[2] / "docs" / "kafka-clients.md"
BEGIN: Final = "<!-- written by python -m verification.client_suites -->\n"
END: Final = "<!-- to here, of suites -->\n"


def table(played: Iterable[Played]) -> str:
    heads = ("suite", "Kafka", "passed", "failed, and why", "skipped by the suite", "left out")
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for one in sorted(played, key=lambda it: (it.client, -rank(it.kafka))):
        skipped = sum(one.skipped.values())
        cells = [f"{one.client} {one.version}", one.kafka, str(one.passed), failures(one), str(skipped or ""),
                 ", ".join(one.left_out)]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def failures(played: Played) -> str:
    """`2: transactions are refused; 1: ...`, by number."""
    reasons = Counter(one.reason or "unknown reason" for one in played.failed)
    return "; ".join(f"{number}: {why}" for why, number in reasons.most_common()) or "none"


def parts(page: str) -> tuple[str, str, str]:
    """Before the table, the table, behind it."""
    before, begin, rest = page.partition(BEGIN)
    shown, end, behind = rest.partition(END)
    assert begin and end, f"{PAGE.name} has no place for the table"
    return before + begin, shown, end + behind


def write_page(played: Iterable[Played]) -> None:
    before, _, behind = parts(PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(before + table(played) + behind, encoding="utf-8")
