"""Times at which a node writes a snapshot of the metadata log: by size, and by time.

Source: SnapshotGenerator; until 3.3 QuorumController.maybeGenerateSnapshot, BrokerMetadataSnapshotter.
"""

from controller.quorum.settings import QuorumSettings
from protocol.gates import Gates


class SnapshotSchedule:
    """Counts of one life of a process, since the last snapshot that it has written or loaded."""

    def __init__(self, settings: QuorumSettings, gates: Gates) -> None:
        self._max_bytes = settings.metadata_log_max_record_bytes_between_snapshots
        self._interval_ms = settings.metadata_log_max_snapshot_interval_ms if gates.snapshots_by_time else 0
        self._bytes = 0
        self._since_ms = 0.0

    def begin(self, now_ms: float) -> None:
        """Count anew: the node has started, or has written or loaded a snapshot."""
        self._bytes = 0
        self._since_ms = now_ms

    def is_due(self, now_ms: float, size_bytes: int) -> bool:
        """Whether committed batches of `size_bytes` make a snapshot due; then the counts begin anew."""
        self._bytes += size_bytes
        waited = self._interval_ms > 0 and now_ms - self._since_ms >= self._interval_ms
        if self._bytes < self._max_bytes and not waited:
            return False
        self.begin(now_ms)
        return True
