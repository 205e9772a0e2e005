"""Unanswered: a client's request gets no response although all nodes are connected.

Every request gets a response at last: its result or an error. A parked request has a deadline of its own, a produce
with acks=all `timeout_ms` and a fetch `max_wait_ms` (semantics 1.8, 1.9). A request that waits for replicas waits no
longer than until lagging ones have left the ISR: the leader looks for them once in `replica.lag.time.max.ms`, so that
takes at most twice as long (semantics 1.3). The bound is the sum of that, of `zookeeper.session.timeout.ms` for a
leader that has lost its session, and of the time that an ISR change may stall (`under-replicated`), the longest of any
broker. Where links were broken it is at least the client's own timeout, because its connection may be dead. It counts
from the send, the last heal, start, or first traffic since (liveness: availability in Jepsen's sense; TLA+: requests
lead to answers, weakly fair). A row is one attempt that waited longer, whether a response came then or not. An attempt
whose connection was lost in time, or of a client's process that has ended, is none. Judged only in runs with a long
enough quiescent period (`audit.settled_tables`), otherwise skipped.
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
