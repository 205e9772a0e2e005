"""Records as they travel and as they lie on disk: Kafka's own bytes.

Reading order:

- `types`: Record, BatchHeader and the iterator over headers that both formats share.
- `errors`: what can be wrong with bytes, one class each.
- `varint`, `compression`: the parts that formats are made of.
- `record`, `batch`: magic 2, the record batch (0.11 and later).
- `message`, `message_set`: magic 0 and 1, messages and sets of them with compressed wrappers (before 0.11).
- `schema_fields`, `group_metadata`, `offset_commits`: keys and values of `__consumer_offsets`.
- `consumer_protocol`: what members of groups say to one another.
- `format`: one door to all of them, by magic. Brokers use only this one.
- `value_scan`: values of an entry's records alone.
"""
