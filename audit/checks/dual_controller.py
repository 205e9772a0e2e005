"""Dual controller: two brokers both believe that they are the controller.

As with leaders, the intervals of controller epochs are compared: an older one that overlaps a newer on another broker
is a window in which the older may still send orders. Brokers refuse them once they have heard from the newer one
(semantics 1.7); before 2.1 it may even write state (KAFKA-6082). A death ends an interval, as a resignation does.

Two brokers with one controller epoch are a violation whenever they had it: nobody could tell their orders apart.
"""

from audit.checks.check import Check
from audit.offices import HOW_LONG

VIOLATIONS = f"""
SELECT run, topic, partition, -1L AS offset,
  format_string('%s (controller epoch %d) took itself for the controller after %s (epoch %d) had become it, %s',
    stale, stale_epoch, newer, newer_epoch, {HOW_LONG}) AS text,
  to_json(struct(stale, stale_epoch, newer, newer_epoch, from_ms, to_ms)) AS details
FROM overlaps WHERE office = 'controller'
UNION ALL
SELECT run, '' AS topic, -1L AS partition, -1L AS offset,
  format_string('%s were controller in the same controller epoch %d', array_join(nodes, ' and '), controller_epoch),
  to_json(struct(controller_epoch, nodes))
FROM (
  SELECT run, controller_epoch, sort_array(collect_set(node)) AS nodes
  FROM rest WHERE event = 'controller_changed' AND active AND controller_epoch > 0 GROUP BY run, controller_epoch
)
WHERE size(nodes) > 1
"""

DUAL_CONTROLLER = Check(
    name="dual-controller",
    title="One controller at a time",
    definition=__doc__,
    levels=("replica",),
    needs=("controller_changed",),
    subject="controller changes",
    # Somebody must have decided who leads: a run with leaders and no controller has lost that event.
    subjects=lambda counts: counts["controller_changed"] or counts["role_changed"],
    violations=VIOLATIONS,
)
