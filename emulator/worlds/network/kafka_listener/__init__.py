"""The Kafka listener of a broker: Kafka's own protocol for any Kafka client.

It decides nothing: it translates a request into the machine's message, and the answer back. Reading order:
`apis` (API versions by Kafka version, limits), `advertised_listeners` (a listener's AZ, and its brokers' addresses),
`message_schemas` (Kafka's schemas), `request_decoder` (bounded decoding), `message_encoder`, `codec` (frames),
`record_translation`, `topic_translation`, `config_translation`, `placement_translation`, `group_translation`,
`members` and `transaction_translation` (Kafka's requests and answers, and ours), `security_answers` (ACLs and quotas,
of which there are none), `translation` (table by API), `client_observer` (operations of clients for the audit),
`client` (one connection), `kafka_listeners` (of one broker). `listener_faults` and `error_responses`: protocol faults,
and responses with an error. `record_validation` (LogValidator), `unended_frames` (a
bound on incomplete frames), `offset_operations` and `read_operations` (operations of groups and consumers for the
audit).
"""
