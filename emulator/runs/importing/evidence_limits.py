"""Evidence that each check of the audit needs, and what an import lacks.

A check whose evidence was not collected is unknown and says what to collect. What it finds in spite of that counts.
"""

from collections.abc import Mapping
from typing import Final

CLIENTS: Final = "clients"
READS: Final = "reads"
GROUPS: Final = "groups"
TRANSACTIONS: Final = "transactions"
SEGMENTS: Final = "segments"
ROLES: Final = "roles"
STATES: Final = "states"
WATERMARKS: Final = "watermarks"
METADATA: Final = "metadata"
QUORUM: Final = "quorum"
EPOCHS: Final = "epochs"
CONTROLLERS: Final = "controllers"
REMOVED: Final = "removed"

WHAT_IS_MISSING: Final[Mapping[str, str]] = {
    CLIENTS: "no application's sends were imported; give them with --clients FILE",
    READS: "no log line of a broker has the records that a consumer read",
    GROUPS: "no log line of a broker has committed offsets",
    TRANSACTIONS: "no log line of a broker or client has its transactions",
    SEGMENTS: "not every replica's segments were collected; copy the brokers' log directories",
    ROLES: "no line says which broker led when; collect state-change.log, up to 2.5 with its level at TRACE",
    STATES: "the partitions' committed states are not known; collect __cluster_metadata-0 of the controllers (KRaft)",
    WATERMARKS: "no log line of a broker has each high watermark",
    METADATA: "no log line of a broker has its own metadata, and of the metadata log only one copy is read",
    QUORUM: "no line has the states of the controllers' quorum; collect the controllers' server.log (KRaft)",
    EPOCHS: "not every replica's leader-epoch-checkpoint was collected",
    REMOVED: "truncated records are in no collected copy; copy a partition's folder before its broker truncates it",
    CONTROLLERS: "no line says which broker was controller; collect controller.log",
}
"""{evidence: what to collect, or why it cannot be}."""

NEEDED: Final[Mapping[str, tuple[str, ...]]] = {
    "lost-acknowledged": (CLIENTS, SEGMENTS, ROLES),
    "duplicate": (CLIENTS, SEGMENTS, ROLES),
    "reordered": (CLIENTS, SEGMENTS, ROLES),
    "failed-but-stored": (CLIENTS, SEGMENTS, ROLES),
    "acknowledged-below-min-insync": (CLIENTS, ROLES, STATES),
    "read-then-lost": (READS,),
    "phantom-read": (READS,),
    "read-above-high-watermark": (READS,),
    "read-gap": (READS,),
    "non-monotonic-read": (READS,),
    "skipped-read": (READS,),
    "unseen": (READS,),
    "inconsistent-offsets": (GROUPS,),
    "offset-out-of-range": (READS,),
    "group-ahead-of-log": (GROUPS,),
    "committed-offset-regression": (GROUPS,),
    "lost-commit": (TRANSACTIONS,),
    "unrequested-commit": (TRANSACTIONS,),
    "torn-commit": (TRANSACTIONS,),
    "aborted-read": (TRANSACTIONS,),
    "dirty-read": (TRANSACTIONS,),
    "circular-dependency": (TRANSACTIONS,),
    "duplicate-commit": (TRANSACTIONS,),
    "output-without-offsets": (TRANSACTIONS,),
    "offsets-without-output": (TRANSACTIONS,),
    "zombie-write": (TRANSACTIONS,),
    "hanging-transaction": (TRANSACTIONS,),
    "replica-divergence": (SEGMENTS,),
    "log-matching": (SEGMENTS, REMOVED),
    "dual-leader": (ROLES, SEGMENTS, REMOVED),
    "dual-controller": (CONTROLLERS, STATES),
    "dual-quorum-leader": (QUORUM,),
    "metadata-divergence": (METADATA,),
    "quorum-high-watermark": (METADATA,),
    "high-watermark-regression": (WATERMARKS,),
    "high-watermark-above-log-end": (WATERMARKS,),
    "leader-epoch-monotonicity": (ROLES, SEGMENTS),
    "partition-state": (STATES,),
    "fenced-leader-change": (STATES,),
    "committed-truncated": (ROLES, WATERMARKS),
    "epoch-cache": (EPOCHS, SEGMENTS),
    "checkpoint-ahead": (WATERMARKS,),
    "no-leader": (STATES,),
    "under-replicated": (STATES,),
    "unanswered-request": (READS,),
    "too-few-copies": (ROLES, STATES, SEGMENTS),
}
"""{check: the evidence that it needs}; a test requires an entry for each check."""


def lacking(present: frozenset[str]) -> dict[str, str]:
    """{check: what is missing}, of the checks that lack some evidence."""
    return {
        check: WHAT_IS_MISSING[missing[0]]
        for check, needed in NEEDED.items()
        if (missing := [one for one in needed if one not in present])
    }
