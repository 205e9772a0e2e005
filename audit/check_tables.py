"""Meanings of the tables that checks read, and the tables that a query reads.

`audit.prepared` makes the tables for the checks alone. `faultline sql` has tables of its own (`audit.views`);
docs/views.md compares those of one name.
"""

from __future__ import annotations

import re
from typing import Final

from audit.event_groups import RARE_ONES, TABLES

_OF_EVENTS: Final = {table: f"event {event}: {', '.join(columns)}" for table, (event, columns) in TABLES.items()}

MEANINGS: Final = {
    **_OF_EVENTS,
    RARE_ONES: "every other event: roles, controllers, nodes, faults, steps, truncations, znodes",
    "states": "partitions' states that ZooKeeper or KRaft committed, each with its predecessor",
    "logs": "final contents of every replica's log, a row a batch, and log ends that were seen (`bound`)",
    "log_ranges": "the same by replica and leader epoch, in numbers",
    "deleted": "batches that were deleted on request",
    "unreadable": "logs that their events do not describe completely",
    "overlaps": "periods in which two nodes held one role",
    "small_isrs": "periods in which leaders had fewer in-sync replicas than min.insync.replicas",
    "leaps": "batches of a read that do not begin right behind the batch before",
    "lost_reads": "batches that the final leader does not hold where they were read",
    "doubtful_turns": "reads of operations that are in `leaps` or `lost_reads`",
    "group_operations": "commits of offsets, and looks at committed offsets",
    "lost": "acknowledged records that the final leader lacks",
    "lost_copies": "replicas that had a lost record",
    "reused_sequences": "lost records whose sequence number the producer had used before",
    "copied": "batches that the final leader has more than once",
    "settled": "runs with a quiescent period, and its beginning",
    "lasting": "partitions' states in the quiescent period",
    "waiting": "clients' requests in flight in a quiescent period: their waits and limits",
    "waited": "of big runs, counts of `requests`, and of those in `waiting`",
    "promised": "records acknowledged with acks=all in partitions with a long enough quiescent period",
    "disordered": "sequences that decreased",
    "falls": "offsets that fell below one that the same producer had requested before",
    "transactional_batches": "batches of transactions, and markers, in final leaders' logs, with the marker behind",
    "transaction_writes": "acknowledged records of clients' transactions, each with the marker behind it",
    "dependencies": "pairs of committed transactions of which the second has read a record of the first",
    "client_transactions": "clients' transactions, with the calls and responses that ended them",
    "ever_transactional": "batches of transactions, and markers, that any replica ever appended",
    "hidden_leaps": "those of `leaps` that only pass markers, or records of aborted transactions",
    "odd_places": "offsets at which two replicas may have had different batches",
}
"""{table: what a row is}"""

_COMMENT = re.compile(r"--(?!big )[^\n]*")
_CTE = re.compile(r"\b(\w+) AS \(\s*(?:SELECT|WITH)\b")
_SOURCE = re.compile(r"\b(?:FROM|JOIN)\s+(\w+)")


def tables_read(*queries: str) -> list[str]:
    """Names of the tables that checks' queries read, in the order of MEANINGS."""
    found: set[str] = set()
    for query in queries:
        text = _COMMENT.sub("", query)
        found |= set(_SOURCE.findall(text)) - set(_CTE.findall(text))
    return [name for name in MEANINGS if name in found]
