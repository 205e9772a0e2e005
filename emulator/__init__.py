"""The emulator. Reading order: `topology`, `storage`, `session`, `client`, `broker`, `node`
(how parts make a process), `world` (who runs them), `injector`, `scenario`, `observations`, `commands` and `cli`."""
