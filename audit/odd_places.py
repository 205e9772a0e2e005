"""Offsets of big runs that have to be looked at closer: where not all batches that were ever appended are one and the
same, or where a follower's clock says that it had the batch before any leader.

Three questions compare what replicas have at one place (log-matching, replica-divergence, the clocks of
`audit.clocks`), each of all batches of all replicas, and next to none of them differ. So it is looked at once, with a
number (`xxhash64`) in the place of names: what is equal has one number, so nothing is missed.

ODD_PLACES gives rows `place`, of AT.
"""

from __future__ import annotations

SPARE_MS = 1.0
"""Times are kept to fractions of a millisecond, and a step's events have the time at which it began."""

AT = "xxhash64(run, topic, partition, base_offset)"

ODD_PLACES = f"""
SELECT place FROM (
  SELECT {AT} AS place, xxhash64(leader_epoch, digest) AS batch,
    IF(as_leader, at_ms, NULL) AS led_ms, IF(as_leader, NULL, at_ms) AS followed_ms
  FROM appends
)
GROUP BY place HAVING min(batch) != max(batch) OR min(followed_ms) < min(led_ms) - {SPARE_MS}
"""
