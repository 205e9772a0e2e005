"""The pages of docs/ that come from code: `python -m docs.generate` (or `make docs`) writes them all.

Reading order: `markdown` (tables and notices), `source` (what only the text of a module tells: comments and docstrings
of fields), `uses` (which names the code really reads); one module per page: `settings`, `errors`, `versions`
(`boundaries`: where its gates were read), `messages`, `events`, `kafka_logs`, `checks`, `views`, `campaigns`,
`catalogue`, `rules`, `openapi`, `cap_choice`; those that follow what was measured: `figures`, `schedules`, `promises`,
and of sweeps (`swept`) `isr_flapping` and `incident_remedies`; `readme` (what its commands print); pictures: `svg`
(shapes), `layers` (who imports whom), `drawing` (one set of machines, two worlds) and `report_picture`; `pages` lists
them, with the picture that `docs.session` draws; `__main__` writes or compares.

No page holds a date, a path of a machine or anything else that changes by itself: the same code gives the
same bytes. Only those named above follow what was measured.
"""
