"""Data that travels or is stored: messages, frames, events, ids, interface of machines.

Reading order: `numbers`, `ids`, `errors`, `kinds`, `versions` (the ladder), `gates` (behaviour by version),
`messages`, `purposes`, `conversations` (messages accepted by purpose), `protocol_faults` and `link_rules`, `hardware`,
`undecodable`, `frame`, `framing`, `records`, `znodes`, `events`, `machine` (inputs and effects), `outbox` (effects by
owner), `ready_queue` and `work` (asynchronous work in blocking style), `chance`, `lateness`. All pure.

`make fast` compiles hot logic to native code, but no module that defines a struct of msgspec. So plain data is a
`NamedTuple` beside its user, or has a module of its own.
"""
