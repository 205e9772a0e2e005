"""What travels. Reading order: `ids`, `errors`, `versions` (the gates), `messages`, `purposes`,
`link_rules`, `framing`, `records`, `znodes`, `events`, `machine` (inputs and effects), `chance`. All pure."""
