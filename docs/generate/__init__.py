"""Generated pages of docs/: `python -m docs.generate` (or `make docs`) writes them all.

Reading order: `markdown_tables` (tables and notices), `source` (data from a module's text: comments and docstrings of
fields), `uses` (names that the code reads); one module per page: `settings`, `errors`, `versions_page`,
`protocol_page`, `events_page`, `kafka_logs`, `checks`, `views_page`, `data_source_page`, `campaigns`, `catalogue`,
`rules_page`, `openapi`, `cap_choice`; from measurements: `figures_page`, `schedules_page`,
`settings_for_promises_page`, and of sweeps (`swept`) `isr_flapping` and `incident_remedies`; `readme` (output of its
commands); pictures: `svg` (shapes), `layers` (imports among packages), `drawing` (one set of machines, two worlds) and
`report_picture`; `pages` lists them, with the picture that `docs.session` draws; `__main__` writes or compares.

No page holds a date, a path of a machine or other changing data: the same code produces the same bytes. Only the pages
from measurements follow these.
"""
