"""What travels. Reading order: `ids`, `errors`, `kinds`, `versions` (the gates), `messages`, `purposes`,
`conversations` (what is heard where), `link_rules`, `hardware`, `undecodable`, `framing`, `records`, `znodes`,
`events`, `machine` (inputs and effects), `work` (what waits, written as if it blocked), `chance`, `lateness`. All
pure."""
