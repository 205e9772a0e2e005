"""docs/incident-remedies.md, from shipped_sweeps.json: effect and waits of each remedy."""

from collections.abc import Iterator
from pathlib import Path

from docs.generate.markdown_tables import notice, table
from docs.generate.swept import SOURCE, Cell, cells, seconds

FIRST = {"incident-remedies": "152", "incident-reversed": "153"}
"""{sweep: the broker that starts first}"""

_HEAD = """# An incident and its remedies

Two brokers, 152 and 153, hold a partition. 152's disk fills up and it dies; 153 goes on alone, and what it takes is
read. Then 153 dies, too. Its operator makes room and starts them, 20 s apart. Everything that 153 took alone is gone
where 152 comes first and may lead: [incident-disk-full](catalogue.md#incident-disk-full), and what real brokers did,
[incident-unclean-restart](catalogue.md#incident-unclean-restart).

What would have helped? Four things, and here is each alone and all of them together, as scenario
[incident-remedies](catalogue.md#incident-remedies) plays them with seed 1: a client writes one record a second with
acks=all, and reads, all the time. The same as sweeps ([sweeps](sweeps.md)), and the run that loses most again:

```
faultline sweep incident-remedies
faultline sweep incident-reversed
{replay}
```

*Lost*: acknowledged, and in the leader's log no more. *Read, gone*: of what was read. *Differ*: places at which the two
logs hold different records in the end. *Refused*: writes that failed. *Waits*: the longest a write took to end.
The client has the defaults of the newest version, without idempotence.
"""

_WORDS = """
- **Nothing done**: {lost} records are lost on {versions}. {old} leaves two logs that differ besides (KIP-101).
- **`unclean.leader.election.enable=false`** loses nothing, in either order. It costs the 20 s until 153 is back:
  with 152 first a write waits {clean} on {new} instead of {unclean}.
- **153 first**: nothing is lost, and no client waits longer than without. The operator has to know which died last.
- **A third replica** loses nothing, and writes go on: {third} is the longest wait on {new}. It costs a broker's disk.
- **`min.insync.replicas=2`** loses nothing even with unclean elections: 153 alone takes nothing. It costs all writes
  from 152's death until two are back: one waits {waits} on {new}; with a third replica only until the first of the two
  is back. Where writes were kept waiting they may change places: five requests are in
  flight, and no idempotence orders them.

Of the four, a third replica alone costs no writes, and it does not help when the third dies as well: with unclean
elections off besides, what is acknowledged then waits. These are single runs of one incident, and no proof.
"""

_COLUMNS = ("Kafka", "first back", "replicas", "min. in sync", "unclean election", "acknowledged", "lost", "read, gone",
            "differ", "reordered", "refused", "waits")  # fmt: skip


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

