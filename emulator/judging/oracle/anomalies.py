"""Anomalies: a function per check that finds its violations in the truth about a run.

The functions are in the modules named below. The docstring of each defines one violation, in the audit as well.
"""

from emulator.check_table import CHECKS
from emulator.judging.oracle import (
    group_promises,
    leadership_promises,
    liveness,
    promise_registry,
    quorum_promises,
    read_promises,
    record_promises,
    replica_promises,
    transaction_dependencies,
    transaction_promises,
    unseen_records,
)
from emulator.judging.oracle.oracle_check import OracleCheck

_MODULES = (
    *(record_promises, promise_registry, read_promises, unseen_records, group_promises),
    *(leadership_promises, quorum_promises, replica_promises, liveness, transaction_promises),
    transaction_dependencies,
)
_FOUND = {one.name: one for module in _MODULES for one in vars(module).values() if isinstance(one, OracleCheck)}

ANOMALIES: dict[str, OracleCheck] = {name: _FOUND[name] for name in CHECKS}
"""{check: the oracle's half of it}, in the order of verdicts."""
