"""Feature levels in the metadata log, such as `metadata.version`.

What depends on them is decided by their levels in the log, not by the release. The gates of `protocol.gates` decide
the rest.
"""

from typing import Final

METADATA_VERSION: Final = "metadata.version"
ELR_VERSION: Final = "eligible.leader.replicas.version"
SHRINK_KEEPS_EPOCH: Final = 12
"""First `metadata.version` (3.6-IV0) in which a shrink keeps the leader epoch (KAFKA-15021)."""
ELR_RECORDS: Final = 23
"""First `metadata.version` (4.0-IV1) with eligible leader replicas (KIP-966)."""
