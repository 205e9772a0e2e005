"""Kafka's settings: all of them, their meaning here, and the treatment of given ones. Pure.

Reading order: `setting` (one: type, range, default by version), `bearing` (its meaning here: modelled, without bearing
on replication, set by the topology, or not modelled and when that can change a run), `log_bearing`, `tables` (all of
them), `setting_registry` (by name: validation, nearest name), `setting_text` (one of them as text).

Values: `properties` (a file's entries), `properties_files` (the kind of a file's settings), `applied` (values for one
version and topology), `java_names` (names of Scala and old Java clients), `in_force` (defaults and values that override
them), `timeout_settings` (time-outs after which a process counts as dead or out of sync). Rules of Kafka for several
settings: `setting_rules`, `listeners`, `client_rules`. The treatment of all settings, in settings.json and
verdict.json: `accounting`, `account`. Descriptions for admin clients, and their changes: `described`, `altered`.
"""
