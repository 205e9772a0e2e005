"""Campaigns: many runs of a space of settings, and their data set.

`space` (axes and ways to draw runs), `sweeps` (a space as words or as a file), `row` (facts about a run: the data set's
schema), `columns` (the schema for Parquet and SQL), `dataset` (a directory of rows in whole parts, resumed after a
kill); `rows` (a judged run as a row), `campaign_runs` (draws to rows, on all cores); `cells` (rows summed up over the
seeds), `cell_text` (texts of a cell's numbers), `campaign_page` and `report` (violations, their shares, and replay
commands).
"""
