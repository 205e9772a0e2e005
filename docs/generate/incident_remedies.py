"""docs/incident-remedies.md, from shipped_sweeps.json: effect and waits of each remedy."""

from collections.abc import Iterator
from pathlib import Path

from docs.generate.markdown_tables import notice, table
from docs.generate.swept import SOURCE, Cell, cells, seconds

FIRST = {"incident-remedies": "152", "incident-reversed": "153"}
"""{sweep: the broker that starts first}"""

_HEAD = """# An incident and its remedies

Two brokers, 152 and 153, hold a partition. 152's disk fills up, and it dies. 153 goes on alone; consumers read the
records that it accepts. Then 153 dies, too. The operator makes room and starts both, 20 s apart. If 152 starts first
and may lead, all records that 153 accepted alone are lost: [incident-disk-full](catalogue.md#incident-disk-full).
[incident-unclean-restart](catalogue.md#incident-unclean-restart) is the recording of real brokers.

There are four remedies. The table has every combination of them, played by scenario
[incident-remedies](catalogue.md#incident-remedies) with seed 1. A client writes one record a second with acks=all, and
reads all the time. These commands repeat the [sweeps](sweeps.md), and the run that loses most:

```
faultline sweep incident-remedies
faultline sweep incident-reversed
{replay}
```

The client has the defaults of the newest version, without idempotence.

| column | meaning |
|---|---|
| lost | acknowledged records that the final leader's log does not have |
| read, lost | records that a consumer has read, of these |
| differ | offsets at which the two logs hold different records in the end |
| refused | writes that failed |
| longest wait | of a write, from its send to its end |
"""

_WORDS = """
- **No remedy**: {lost} records are lost on {versions}. On {old} the two logs also differ (KIP-101).
- **`unclean.leader.election.enable=false`** loses nothing, in either order. It costs the 20 s until 153 is back:
  if 152 starts first, a write waits {clean} on {new} instead of {unclean}.
- **153 first**: nothing is lost, and no client waits longer than without a remedy. The operator has to find out which
  broker died last.
- **A third replica** loses nothing, and writes go on: the longest wait is {third} on {new}. It costs a broker's disk.
- **`min.insync.replicas=2`** loses nothing even with unclean elections: 153 alone refuses writes. They wait from 152's
  death until two replicas are back, {waits} on {new}. With a third replica they wait until one is back.
  Writes that wait may be reordered: five requests are in flight, and the producer is not idempotent.

Only a third replica costs no writes. It does not help if the third broker dies as well. With unclean elections off
records are then not lost, but writes wait. These are single runs of one incident, and no proof.
"""

_COLUMNS = ("Kafka", "first back", "replicas", "min. in sync", "unclean election", "acknowledged", "lost", "read, lost",
            "differ", "reordered", "refused", "longest wait")  # fmt: skip


def page(root: Path) -> str:
    found = [(FIRST[name], cell) for name in FIRST for cell in cells(root, name)]
    worst = max(found, key=lambda one: one[1]["broken"].get("lost-acknowledged", 0))[1]
    versions = list(dict.fromkeys(cell["kafka"] for _, cell in found))
    parts = [notice(SOURCE), _HEAD.format(replay=worst["replay"]), table(_COLUMNS, _rows(found, versions))]
    return "\n".join([*parts, _WORDS.format(**_figures(found, versions)).lstrip("\n").rstrip("\n")]) + "\n"


def _rows(found: list[tuple[str, Cell]], versions: list[str]) -> Iterator[tuple[object, ...]]:
    for version in versions:
        for first, cell in found:
            if cell["kafka"] == version:
                yield _row(first, cell)


def _row(first: str, cell: Cell) -> tuple[object, ...]:
    broken, chosen = cell["broken"], cell["chosen"]
    return (
        cell["kafka"], first, _replicas(cell), chosen["min.insync.replicas"], "yes" if _unclean(cell) else "no",
        cell["acknowledged"], broken.get("lost-acknowledged", 0), broken.get("read-then-lost", 0),
        broken.get("replica-divergence", 0), broken.get("reordered", 0), cell["refused"],
        seconds(cell["longest_wait_ms"]),
    )  # fmt: skip


def _replicas(cell: Cell) -> int:
    return int(cell["chosen"]["create-topic.assignment"].count(",") + 1)


def _unclean(cell: Cell) -> bool:
    return bool(cell["chosen"]["unclean.leader.election.enable"] == "true")


def _figures(found: list[tuple[str, Cell]], versions: list[str]) -> dict[str, object]:
    """Figures in the text; asserts that they hold in all rows."""
    old, new = versions

    def cell(version: str, first: str = "152", replicas: int = 2, in_sync: str = "1", *, unclean: bool = True) -> Cell:
        return next(
            one for whose, one in found
            if (whose, one["kafka"], _replicas(one), one["chosen"]["min.insync.replicas"], _unclean(one))
            == (first, version, replicas, in_sync, unclean)
        )  # fmt: skip

    nothing = [cell(version) for version in versions]
    losing = [one for _, one in found if one["broken"].get("lost-acknowledged")]
    assert losing == nothing, "one remedy is enough, and without one records are lost"
    assert not any(one["broken"].get("replica-divergence") for _, one in found if one is not nothing[0])
    assert not any(one["refused"] for _, one in found)
    lost = {one["broken"]["lost-acknowledged"] for one in nothing}
    assert len(lost) == 1
    return {
        "lost": lost.pop(),
        "versions": " and ".join(versions),
        "old": old,
        "new": new,
        "clean": seconds(cell(new, unclean=False)["longest_wait_ms"]),
        "unclean": seconds(cell(new)["longest_wait_ms"]),
        "third": seconds(cell(new, replicas=3)["longest_wait_ms"]),
        "waits": seconds(cell(new, in_sync="2")["longest_wait_ms"]),
    }

