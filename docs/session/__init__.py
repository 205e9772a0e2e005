"""A long-running cluster in a real terminal, recorded: docs/session.cast, and its picture.

    story (commands)  -->  terminal (bash on a pty)  -->  docs/session.cast  -->  screen  -->  docs/session.svg

Reading order: `story` (the commands, each with its required output), `recorded_terminal` (types, waits and records),
`cast` (asciinema's file format, version 2), `terminal_screen` (a terminal's content after a recording), `borders`
(frames drawn as lines), `session_svg` (cells as SVG).

`python -m docs.session` plays it again, which starts a cluster and takes a minute or two. `make docs` draws the picture
from the recording that is there. `asciinema play docs/session.cast` shows it as it went.
"""
