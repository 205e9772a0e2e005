"""What travels. Reading order: `numbers`, `ids`, `errors`, `kinds`, `versions` (the gates), `messages`, `purposes`,
`conversations` (what is heard where), `link_rules`, `hardware`, `undecodable`, `frame`, `framing`, `records`,
`znodes`, `events`, `machine` (inputs and effects), `outbox` (whose they are), `ready_queue`, `waiting` and `work`
(what waits, written as if it blocked), `chance`, `lateness`. All pure.

What is only data (structs of msgspec) has modules of its own where the logic is hot: `make fast` makes native code of
the one and not of the other."""
