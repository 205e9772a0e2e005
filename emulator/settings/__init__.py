"""Kafka's settings: all of them, their meaning here, and the treatment of given ones. Pure.

Reading order: `setting` (one: type, range, default by version), `bearing` (its meaning here: modelled, without bearing
on replication, set by the topology, or not modelled and when that can change a run), `log_bearing`, `tables` (all of
them), `registry` (by name: validation, nearest name), `words` (one of them as text).

Then given settings: `properties` (a file's entries), `files` (the scope of a file), `applied` (for one version and
topology), `java_names` (names of old clients), `in_force` (defaults below given values), `rules`, `listeners` and
`client_rules` (combinations that Kafka refuses), `accounting` (all of them together) and `account` (notes in
settings.json and verdict.json). `described`, `altered`: settings for admin clients, and their changes.
"""
