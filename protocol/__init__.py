"""What travels. Reading order: `ids`, `errors`, `versions` (the gates), `messages`, `framing`, `records`, `events`. All pure."""
