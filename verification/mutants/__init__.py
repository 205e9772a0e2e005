"""Mutants: machines that are wrong on purpose, and their detection by each judge.

Reading order: `mutant` (the struct, and `applied`), `replication_patches`, `observation_patches` (what is wrong),
`table` (every mutant with its runs), `crash_hunt` (detection by crash testing). `python -m verification.mutants` judges
all of them.
"""
