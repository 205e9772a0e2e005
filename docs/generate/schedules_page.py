"""docs/random-schedules.md, from verification/results/random_schedules.json."""

import json
from pathlib import Path
from typing import Any

from docs.generate.markdown_tables import notice, table
from emulator.judging.schedule_judging import RECORDED_ONCE

_HEAD = """# Random schedules

Each schedule has six faults or repairs, drawn at random, and was recorded twice on real Kafka
(tests/golden/README.md). Time-outs are short, so that races are frequent. `python -m verification.random_schedules`
simulates each with {seeds} seeds.

| column | meaning |
|---|---|
| agreed entries | results on which both recordings agree |
| two seeds agree on | results on which two simulated runs agree, on average |
| in every seed | agreed entries that hold in every seed |
| seeds with all | seeds in which all agreed entries hold, including states, controllers and truncations |
| reached by seeds | number of seeds that equal the whole recording; `seed N`: none of the {seeds}, but seed N |

A schedule with one file had two equal recordings; those of 3.9 have one recording each, so nothing agrees. The targets
of writes were decided while the script ran. So the scripts of two recordings may differ, and each is compared with
simulated runs of its own script.

**{found} of {recordings} recordings are reached, {within} of them within {seeds} seeds. {rare} agreed entries are
rare**, that is, in fewer than 1 in 50 seeds. Two recordings may agree on a rare outcome by chance. An
agreed entry that no seed reaches would show a wrong rule.

The share of chance can be compared as well: of {results} results, **two recordings agree on {agreed}
({agreed_share:.0%}), two simulated runs on {by_two:.0f} ({by_two_share:.0%})**. Three races of real Kafka cause most of
the differences. Their outcomes are about as frequent in simulation as in all recordings together:

| race | recorded | rule |
|---|---|---|
| a broker outside the cut loses its session, because its ZooKeeper server was inside | 8 of 121 times | 5.2 |
| the leader (same epoch) or the controller (epoch +1) removes a follower from the ISR | 43 to 19 | 1.3, 4.2 |
| which live broker becomes controller, and which follower joins the ISR first | either | 4.1, 1.4 |

`tests/test_random_schedules.py` fails if this table gets worse.
"""


def page(root: Path) -> str:
    judged: list[dict[str, Any]] = json.loads(
        (root / "verification" / "results" / "random_schedules.json").read_text(encoding="utf-8")
    )
    recordings = [seeds for one in judged for seeds in one["reached"].values()]
    twice = [one for one in judged if one["schedule"] not in RECORDED_ONCE]
    results, agreed, by_two = (sum(one[name] for one in twice) for name in ("results", "entries", "by_two_seeds"))
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
    return "\n".join([notice("verification/results"), head, table(columns, [_row(one) for one in judged])])


def _by(played: int, seeds: list[int]) -> str:
    if not seeds:
        return "**none**"
    return f"seed {seeds[0]}" if seeds[0] > played else str(len(seeds))


def _row(one: dict[str, Any]) -> tuple[object, ...]:
    reached = ", ".join(f"`{name}` {_by(one['seeds'], seeds)}" for name, seeds in one["reached"].items())
    right = one["seeds"] - len(one["broken"])
    return (one["schedule"], one["results"], one["entries"], one["by_two_seeds"], one["always"], right, reached)
