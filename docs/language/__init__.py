"""Lint of the project's language.

It checks docstrings, identifiers, file names, sentences and commit subjects.

Reading order: `language_rules` (offences in one text), `language_sources` (texts of the repository), `baseline`
(offences that are known and may only decrease). `python -m docs.language` is a part of `make check`.
"""
