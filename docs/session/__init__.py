"""A cluster that stays, played by hand in a real terminal and kept: docs/session.cast, and its picture.

    story (what is typed)  -->  terminal (bash on a pty)  -->  docs/session.cast  -->  screen  -->  docs/session.svg

Reading order: `story` (the commands, and what each must have shown before the next one), `terminal` (types, waits and
records), `cast` (asciinema's file format, version 2), `screen` (what a terminal shows after a recording), `borders`
(frames drawn as lines), `picture` (cells as SVG).

`python -m docs.session` plays it again, which starts a cluster and takes a minute or two. `make docs` draws the picture
from the recording that is there. `asciinema play docs/session.cast` shows it as it went.
"""
