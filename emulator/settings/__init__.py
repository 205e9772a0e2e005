"""Kafka's settings: all of them, their meaning here, and the treatment of given ones. Pure.

Reading order: `setting` (one: type, range, default by version), `bearing` (its meaning here: modelled, without bearing
on replication, set by the topology, or not modelled and when that can change a run), `log_bearing`, `tables` (all of
them), `setting_registry` (by name: validation, nearest name), `setting_text` (one of them as text).

Then what is given: `properties` (a file's entries), `properties_files` (whose settings it holds), `applied` (the same
for one version and topology), `java_names` (clients of long ago), `in_force` (defaults and what is given above them),
`timeout_settings` (after whose time a process counts as dead or out of sync), `setting_rules`,
`listeners` and `client_rules` (what Kafka refuses together), `accounting` (everything looked at together) and `account`
(what is said of it, in settings.json and verdict.json). What admin clients are told of all that, and may change:
`described`, `altered`.
"""
