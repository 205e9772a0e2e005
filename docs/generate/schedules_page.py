"""docs/random-schedules.md, from benchmarks/results/random_schedules.json."""

import json
from pathlib import Path
from typing import Any

from docs.generate.markdown_tables import notice, table

_HEAD = """# Random schedules

Six faults or repairs drawn at random, recorded twice each on real Kafka (tests/golden/README.md): short time-outs, so
that races abound. Simulated with {seeds} seeds each by `python -m benchmarks.random_schedules`.

- *Agreed entries*: results on which both recordings agree. *In every seed*: how many of them hold whatever the seed;
  *seeds with all*: seeds in which every one holds, those of the states, controllers and truncations included.
- *Reached*: how many seeds equal each recording as a whole; where none of them does, the first further seed that does.
  Where there is one file, both recordings were alike. Who is written to was decided while the script was played, so
  the scripts of two recordings may differ: each is held against runs of its own.

**{found} of {recordings} recordings are reached, {within} of them within {seeds} seeds; {rare} agreed entries are
rare**, shown by fewer than 1 in 50 of the seeds: two recordings that agree on a rare outcome are luck, two that agree
on an impossible one would show a wrong rule.

What can be compared, too, is how much is left to chance: of {results} results, **two recordings agree on {agreed}
({agreed_share:.0%}), two simulated runs on {by_two:.0f} ({by_two_share:.0%})**. Three races of real Kafka account for
most of the rest; in simulation they come out about as often as in all recordings together:

| race | recorded | rule |
|---|---|---|
| a broker outside the cut loses its session, because its session server was inside | 8 of 121 times | 5.2 |
| a follower leaves the ISR by its leader (same epoch) or by the controller (epoch +1) | 43 to 19 | 1.3, 4.2 |
| which live broker becomes controller, and which follower is back in the ISR first | either | 4.1, 1.4 |

`tests/test_random_schedules.py` keeps this table from getting worse.
"""


def page(root: Path) -> str:
    judged: list[dict[str, Any]] = json.loads(
        (root / "benchmarks" / "results" / "random_schedules.json").read_text(encoding="utf-8")
    )
    recordings = [seeds for one in judged for seeds in one["reached"].values()]
    results, agreed, by_two = (sum(one[name] for one in judged) for name in ("results", "entries", "by_two_seeds"))
    head = _HEAD.format(
        results=results,
        agreed=agreed,
        agreed_share=agreed / results,
        by_two=by_two,
        by_two_share=by_two / results,
        seeds=judged[0]["seeds"],
        rare=sum(len(one["rare"]) for one in judged),
        within=sum(bool(seeds) and seeds[0] <= one["seeds"] for one in judged for seeds in one["reached"].values()),
        found=sum(map(bool, recordings)),
        recordings=len(recordings),
    )
    columns = (
        "schedule", "results", "agreed entries", "two seeds agree on", "in every seed", "seeds with all",
        "reached by seeds",
    )  # fmt: skip
    return "\n".join([notice("benchmarks/results"), head, table(columns, [_row(one) for one in judged])])


def _by(played: int, seeds: list[int]) -> str:
    if not seeds:
        return "**none**"
    return f"seed {seeds[0]}" if seeds[0] > played else str(len(seeds))


def _row(one: dict[str, Any]) -> tuple[object, ...]:
    reached = ", ".join(f"`{name}` {_by(one['seeds'], seeds)}" for name, seeds in one["reached"].items())
    right = one["seeds"] - len(one["broken"])
    return (one["schedule"], one["results"], one["entries"], one["by_two_seeds"], one["always"], right, reached)
