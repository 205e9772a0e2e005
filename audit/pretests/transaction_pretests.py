"""Pre-tests of checks about transactions: whether a run has any."""

from __future__ import annotations

from audit.pretests.pretest_registry import pretest
from audit.pretests.pretested_run import PretestedRun


@pretest("violations", "aborted-read", "dirty-read", "duplicate-commit", "hanging-transaction", "lost-commit")
@pretest("violations", "offsets-without-output", "output-without-offsets", "torn-commit", "unrequested-commit")
@pretest("violations", "circular-dependency", "zombie-write")
@pretest("table", "transactional_batches", "transaction_writes", "client_transactions", "hidden_leaps")
@pretest("table", "dependencies", "ever_transactional")
def transactions(run: PretestedRun) -> bool:
    """Each of these queries joins batches of transactions, or clients' transactions."""
    return run.has("transaction_batch_appended", "producer_transaction_changed")
