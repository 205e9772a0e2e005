"""Campaigns: many runs with one question, and the data set that they leave.

`space` (what is gone through, and ways to draw from it), `sweeps` (one in words, or in a file), `row` (what is known
of a run: the data set's schema), `columns` (the same for Parquet and SQL), `dataset` (a directory of rows: whole
parts, gone on with after a kill); `rows` (a judged run as a row), `playing` (draws to rows, on all cores); `cells`
(rows summed up over the seeds), `words` (a cell's numbers, for people), `page` and `report` (what breaks, how often,
and the command that plays it again).
"""
