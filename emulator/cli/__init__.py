"""The command line.

Reading order: `app` (every command's words, and `main`), `app_live`, `app_live_machines` and `app_live_use` (those for
a cluster that stays; `asked`: what they have in common), `commands` (what each does, one module per command), `doctor`
(what this machine has and lacks), `on_spark` (`--master`), `notebook` (commands and questions for notebooks).
`plain_values`: bounds of every value, whatever its option.
"""
