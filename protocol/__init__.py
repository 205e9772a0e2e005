"""What travels. Reading order: `ids`, `errors`, `versions` (the gates), `messages`, `purposes`,
`framing`, `records`, `znodes`, `events`, `machine` (inputs and effects), `chance`. All pure."""
