"""Lint of the project's language: docstrings, identifiers, file names, sentences, commit subjects.

Reading order: `language_rules` (offences in one text), `language_sources` (texts of the repository), `baseline`
(offences that are known and may only decrease). `python -m docs.language` is a part of `make check`.
"""
