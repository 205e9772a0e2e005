"""Queries of the derived tables that checks read, in stages."""

from __future__ import annotations

from audit.checks.log_evidence import UNREADABLE
from audit.consumer_tables import DOUBTFUL_TURNS, GROUP_OPERATIONS, LEAPS, LOST_READS
from audit.leadership_terms import OVERLAPS
from audit.log_tables import DELETED, LOG_RANGES
from audit.lost import COPIED, LOST, LOST_COPIES, REUSED_SEQUENCES
from audit.settled_tables import LASTING, PROMISED, SETTLED, WAITING
from audit.states import SMALL_ISRS
from audit.transaction_tables import (
    CLIENT_TRANSACTIONS,
    DEPENDENCIES,
    EVER_TRANSACTIONAL,
    HIDDEN_LEAPS,
    TRANSACTION_WRITES,
    TRANSACTIONAL_BATCHES,
)

SMALL_MAX_BYTES = 8 << 20
"""Maximum size of runs, together, that are judged in memory; some 25,000 events.

There is no shuffle and no code generation. Every check reads all lines there, so three times as many take longer than
in files (docs/audit-cost.md).
"""

FLOORS: tuple[dict[str, str], ...] = (
    {"settled": SETTLED, "small_isrs": SMALL_ISRS, "overlaps": OVERLAPS},
    {
        "deleted": DELETED,
        "leaps": LEAPS,
        "group_operations": GROUP_OPERATIONS,
        "client_transactions": CLIENT_TRANSACTIONS,
        "ever_transactional": EVER_TRANSACTIONAL,
    },
    {
        "lasting": LASTING,
        "log_ranges": LOG_RANGES,
        "lost": LOST,
        "waiting": WAITING,
        "copied": COPIED,
        "lost_reads": LOST_READS,
        "transactional_batches": TRANSACTIONAL_BATCHES,
    },
    {
        "unreadable": UNREADABLE,
        "promised": PROMISED,
        "lost_copies": LOST_COPIES,
        "doubtful_turns": DOUBTFUL_TURNS,
        "hidden_leaps": HIDDEN_LEAPS,
    },
    {"reused_sequences": REUSED_SEQUENCES, "transaction_writes": TRANSACTION_WRITES},
    {"dependencies": DEPENDENCIES},
)
"""{table: its query} of tables with few rows or none, in stages; each is made once.

A stage reads the stages before it, the second beside the first. The logs come before the third.
"""
