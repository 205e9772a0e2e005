"""The pages of docs/ that come from code: `python -m docs.generate` (or `make docs`) writes them all.

Reading order: `markdown` (tables and notices), `source` (what only the text of a module tells: comments and
docstrings of fields), `uses` (which names the code really reads); one module per page: `settings`, `errors`,
`versions`, `messages`, `events`, `checks`, `views`, `catalogue`, `figures`, `rules`; `svg` (shapes), `layers`
(who imports whom) and `drawing` (one set of machines, two worlds); `pages` lists them, with the picture that
`docs.session` draws; `__main__` writes or compares.

No page holds a date, a path of a machine or anything else that changes by itself: the same code gives the
same bytes. Only `figures` follows what was measured.
"""
