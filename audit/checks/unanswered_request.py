"""Unanswered: a client's request is not answered, and not given up, although everybody is there and can talk.

Every request is answered at last: with what was asked for, or an error. What parks it has a deadline of its own, a
produce with acks=all `timeout_ms` and a fetch `max_wait_ms` (semantics 1.8, 1.9), and who waits for replicas waits no
longer than until those that lag have left the in-sync replicas: looked for once in `replica.lag.time.max.ms`, so twice
as long (semantics 1.3). The bound is that, `zookeeper.session.timeout.ms` for a leader that has lost its session, and
what an ISR change may stall (`under-replicated` says how long), the longest that any broker has; where links were
broken at least the client's own time-out, for its connection may be dead. Counted from when it was sent, the last heal,
start, or first traffic since (liveness: availability in Jepsen's sense; TLA+: requests lead to answers, weakly fair). A
row is one attempt that was waited for longer, whether an answer came then or not; one whose connection was lost in
time, or of a client's process that has ended, is none. Judged only in runs that were left in peace for so long
(`audit.settled`), otherwise skipped.
"""

from audit.checks.check import Check

VIOLATIONS = """
SELECT run, '' AS topic, -1L AS partition, -1L AS offset,
  format_string('attempt %d of %s, which %s asked of broker-%d, was waited for %d ms from %d ms on, and all was healed '
    || 'and alive; at most %d ms are needed', attempt, operation, node, broker, bigint(lasted_ms), bigint(from_ms),
    bound_ms) AS text,
  to_json(struct(operation, attempt, node AS client, broker, from_ms, lasted_ms, bound_ms)) AS details
FROM waiting WHERE lasted_ms > bound_ms
"""

UNANSWERED_REQUEST = Check(
    name="unanswered-request",
    title="Every request is answered",
    definition=__doc__,
    levels=("client",),
    needs=(),
    subject="requests of a run that was left in peace long enough",
    subjects=lambda counts: 0,
    violations=VIOLATIONS,
    counted="""
SELECT run, 1L AS requests FROM waiting
--big WHERE false UNION ALL SELECT run, requests FROM waited
""",
    counted_as="sum(requests)",
    of_absence=True,
)
