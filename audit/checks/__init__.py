"""Checks: one anomaly each, defined in the docstring of the module with the check's name.

Reading order: `check` (the type of a check), `log_evidence` (whether a log can be judged), then the modules of the
checks, from `lost_acknowledged` on in the order of `emulator.check_table`. `check_registry` finds them by name; `own`
loads checks of other authors.
"""
