"""A release, up to its upload; `__main__` is the checklist.

`release_checks` (texts, metadata, contents), `distributions` (reproducible builds), `fresh_environment` (an
installation apart from this one).
"""
