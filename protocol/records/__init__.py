"""Records on the wire and on disk: Kafka's own bytes.

Reading order:

- `types`: Record, BatchHeader and the iterator over headers that both formats share.
- `errors`: kinds of damage, one class each.
- `varint`, `compression`: the parts of the formats.
- `record`, `batch`: magic 2, the record batch (0.11 and later).
- `message`, `message_set`: magic 0 and 1, messages and sets of them with compressed wrappers (before 0.11).
- `schema_fields`, `group_metadata`, `offset_commits`: keys and values of `__consumer_offsets`.
- `quorum_records`, `quorum_control_records`: control records of the metadata log.
- `compact_fields`, `metadata_records`, `metadata_codec`: the other records of the metadata log.
- `transaction_states`, `transaction_markers`: keys and values of `__transaction_state`; control records.
- `consumer_protocol`: subscriptions and assignments of groups' members.
- `format`: common functions for all formats, by magic. Brokers use only this one.
- `value_scan`: values of an entry's records alone.
"""
