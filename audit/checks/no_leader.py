"""No leader: a partition stays without a leader although everybody is there and can talk.

Once all faults are healed and all processes live, somebody of its in-sync replicas is there to lead, and the controller
elects it as soon as it has heard of it: at the latest when the session of a controller, or of a broker, that was lost
has expired and it has come back. The bound is twice `zookeeper.session.timeout.ms`, the longest that any broker has,
counted from the last heal, start, or first traffic since (liveness; semantics 4.2). A row is a state without a leader
that lasted longer. Judged only in runs that were left in peace for so long (`audit.settled`), otherwise skipped.
"""

from audit.checks.check import Check

BOUND = "2 * session_ms"

VIOLATIONS = f"""
SELECT run, topic, partition, -1L AS offset,
  format_string('nobody led for %d ms from %d ms on, and all was healed and alive; at most %d ms are needed',
    bigint(lasted_ms), bigint(from_ms), {BOUND}) AS text,
  to_json(struct(from_ms, lasted_ms, {BOUND} AS bound_ms)) AS details
FROM lasting WHERE leader < 0 AND lasted_ms > {BOUND}
"""

COUNTED = f"SELECT DISTINCT run, topic, partition FROM lasting WHERE peace_ms > {BOUND}"

NO_LEADER = Check(
    name="no-leader",
    title="Somebody leads again",
    definition=__doc__,
    levels=("replica",),
    needs=(),
    subject="partitions of a run that was left in peace long enough",
    subjects=lambda counts: 0,
    violations=VIOLATIONS,
    counted=COUNTED,
    of_absence=True,
)
