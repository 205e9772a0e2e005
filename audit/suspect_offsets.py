"""Suspect offsets of big runs: different batches, or a follower's time before any leader's.

Three queries compare replicas' batches at one offset (log-matching, replica-divergence, the clocks of
`audit.causality_violations`), each of all batches of all replicas, and next to none of them differ. So one query
compares them first, with a number (`xxhash64`) in place of names: equal names have one number, so that nothing is
missed.

ODD_PLACES has rows `place`, of AT.
"""

from __future__ import annotations

SPARE_MS = 1.0
"""Tolerance: a step's events have its beginning's time, in fractions of a millisecond."""

AT = "xxhash64(run, topic, partition, base_offset)"

ODD_PLACES = f"""
SELECT place FROM (
  SELECT {AT} AS place, xxhash64(leader_epoch, digest) AS batch,
    IF(as_leader, at_ms, NULL) AS led_ms, IF(as_leader, NULL, at_ms) AS followed_ms
  FROM appends
)
GROUP BY place HAVING min(batch) != max(batch) OR min(followed_ms) < min(led_ms) - {SPARE_MS}
"""
