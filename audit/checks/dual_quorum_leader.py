"""Dual quorum leader: nodes of a KRaft quorum know two leaders of one epoch.

A voter votes once in an epoch, and writes its vote down before it answers. A majority elects, so an epoch has at most
one leader (Raft's election safety; kraft-semantics 1.3). A row is an epoch of which leaders and followers, voters or
brokers, know more than one leader. Two leaders of different epochs are no violation: only the newer one can commit.
"""

from audit.checks.check import Check

VIOLATIONS = """
SELECT run, '' AS topic, -1L AS partition, -1L AS offset,
  format_string('the quorum had %s as leaders of one epoch, %d', array_join(leaders, ' and '), epoch) AS text,
  to_json(struct(epoch, leaders, nodes)) AS details
FROM (
  SELECT run, epoch, sort_array(collect_set(leader)) AS leaders, sort_array(collect_set(node)) AS nodes
  FROM rest WHERE event = 'quorum_state_changed' AND leader >= 0 GROUP BY run, epoch
)
WHERE size(leaders) > 1
"""

CHECK = Check(
    name="dual-quorum-leader",
    title="One leader in each epoch of the quorum",
    definition=__doc__,
    levels=("replica",),
    needs=(),
    subject="states of the quorum's nodes",
    subjects=lambda counts: counts["quorum_state_changed"],
    violations=VIOLATIONS,
)
