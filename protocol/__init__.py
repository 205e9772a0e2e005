"""Data that travels or is stored: messages, frames, events, ids, interface of machines.

Reading order: `numbers`, `ids`, `errors`, `kinds`, `versions` (the ladder), `gates` (behaviour by version),
`messages`, `purposes`, `conversations` (messages accepted by purpose), `link_rules`, `hardware`, `undecodable`,
`frame`, `framing`, `records`, `znodes`, `events`, `machine` (inputs and effects), `outbox` (effects by owner),
`ready_queue`, `waiting` and `work` (asynchronous work in blocking style), `chance`, `lateness`. All pure.

Where logic is hot, plain data (structs of msgspec) has modules of its own: `make fast` compiles the logic to native
code and not the data.
"""
