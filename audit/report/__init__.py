"""The report: one page that shows what happened in a run and what was made of it. Needs no Spark and no network.

Reading order: `timeline` (intervals, series and marks), `reading` (a bounded part of the events as a timeline),
`thinning` (what is too dense to be seen), `layout` (where things stand), `picture` (the timeline as SVG), `legend`
(what its marks mean), `about` (what was played), `tables` (expectations, faults, measures, settings), `page` (all of
it as HTML), `writing` (a run's report.html).
"""

from audit.report.writing import verdict_of, write_report

__all__ = ["verdict_of", "write_report"]
