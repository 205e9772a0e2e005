"""The command line.

Reading order: `app` (every command, and `main`; `root_app`: what they are registered on), `app_live`,
`app_live_machines` and `app_live_use` (commands for a running cluster; `cluster_options`: their options),
`command_options` (options of all other commands), `play_options` (options and groups that several commands have),
`commands` (the implementations, one module per command), `doctor` (checks of this machine), `on_spark` (`--master`),
`notebook` (commands and queries for notebooks). `plain_values`: bounds of every option's value.
`old_arguments`: old names of commands and options.
"""
