"""The Kafka listener of a broker: Kafka's own protocol for any Kafka client.

It decides nothing: it translates a request into the machine's message, and the answer back. Reading order:
`apis` (API versions by Kafka version), `place` (a listener's AZ, and the brokers' advertised addresses), `codec` (bytes
and the library's objects), `record_translation`, `topic_translation`, `config_translation`, `placement_translation`,
`group_translation` and `members` (Kafka's requests and answers, and ours), `security_answers` (ACLs and quotas, of
which there are none), `translation` (dispatch by API), `client_observer` (operations of clients for the audit),
`client` (one connection), `door` (the listeners of one broker). All but the first two import the library, and are
imported where a listener is open. `request_decoder` (bounded decoding), `record_validation` (LogValidator),
`unended_frames` (a bound on incomplete frames), `offset_operations` and `read_operations` (operations of groups and
consumers for the audit).
"""
