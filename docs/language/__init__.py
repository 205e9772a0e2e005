"""Lint of the project's language: docstrings, identifiers, file names, sentences, commit subjects.

Reading order: `rules` (offences in one text), `sources` (texts of the repository), `baseline` (offences that are known
and may only decrease). `python -m docs.language` is a part of `make check`.
"""
