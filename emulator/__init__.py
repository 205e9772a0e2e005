"""The emulator. Reading order: `machine` (inputs, effects), `topology`, `purposes`, `storage`, `session`, `client`, `broker`, `node`
(how parts make a process), `world` (who runs them), `injector`, `scenario`, `observations`, `commands` and `cli`."""
