"""The door: where Kafka clients come in, any of them, and speak Kafka's own protocol.

Nothing here decides anything: a request becomes the message that the machine knows, and its answer goes back. Reading
order: `apis` (what is spoken, by version), `place` (whose door it is, and where brokers are from there), `codec` (bytes
and the library's objects), `record_translation`, `topic_translation`, `config_translation`, `placement_translation`,
`group_translation` and `members` (Kafka's requests and answers, and ours), `security_answers` (ACLs and quotas, of
which there are none), `translation` (which is which), `client_observer` (what clients were told, as operations for the
audit), `client` (one connection), `door` (the listeners of one broker). All but the first two import the library, and
are imported where a door is open. `request_decoder` (bounded decoding), `record_validation` (LogValidator),
`unended_frames` (a bound on begun frames), `offset_operations` and `read_operations` (operations of groups and
consumers for the audit).
"""
