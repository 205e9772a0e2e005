"""Unanswered: a client's request gets no response although all nodes are connected.

Every request receives a response: its result or an error. (Liveness: availability in Jepsen's sense; TLA+: requests
lead to answers, weakly fair.)

A parked request has a deadline: a produce with acks=all `timeout_ms`, a fetch `max_wait_ms` (semantics 1.8, 1.9). A
request that waits for replicas waits at most until lagging ones have left the ISR. The bound counts from the send, the
last heal, start, or first traffic since. It is the sum of these times, the longest of any broker:

- twice `replica.lag.time.max.ms`: the leader checks for lagging replicas once per lag time (semantics 1.3);
- `zookeeper.session.timeout.ms`, for a leader that has lost its session; in KRaft the time until it is fenced
  (`no-leader`);
- the time that an ISR change may stall (`under-replicated`).

If links were broken, the bound is at least the client's own timeout, because its connection may be dead. A row is one
attempt that waited longer, even if a response came later. An attempt whose connection was lost in time, or whose
client's process has ended, does not count. Judged only in runs with a long enough quiescent period
(`audit.settled_tables`), otherwise skipped.
"""

from audit.checks.check import Check

VIOLATIONS = """
SELECT run, '' AS topic, -1L AS partition, -1L AS offset,
  format_string('attempt %d of %s, which %s sent to broker-%d, waited %d ms for a response from %d ms on, '
    || 'with all faults healed and all nodes alive; at most %d ms are needed',
    attempt, operation, node, broker, bigint(lasted_ms), bigint(from_ms), bound_ms) AS text,
  to_json(struct(operation, attempt, node AS client, broker, from_ms, lasted_ms, bound_ms)) AS details
FROM waiting WHERE lasted_ms > bound_ms
"""

CHECK = Check(
    name="unanswered-request",
    title="Every request gets a response",
    definition=__doc__,
    levels=("client",),
    needs=(),
    subject="requests in a long enough quiescent period",
    subjects=lambda counts: 0,
    violations=VIOLATIONS,
    counted="""
SELECT run, 1L AS requests FROM waiting
--big WHERE false UNION ALL SELECT run, requests FROM waited
""",
    counted_as="sum(requests)",
    of_absence=True,
)
