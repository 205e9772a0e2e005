"""The report: one page that shows the events of a run and its verdict.

Needs no Spark and no network.

Reading order: `kept` (a bounded part of the events), `timeline` (intervals, series and marks), `reading` (events as a
timeline), `moments` (times of rare events), `messages` (frames between nodes, and stopped ones), `logs` (replicas' logs
over time), `played` (the scenario), `claims` (statements of the verdict, with time and events). Then the drawing:
`thinning` (merges dense marks), `layout` (positions), `marks` (marks of single events), `picture` (the timeline as
SVG), `legend` (meaning of the marks), `drawn` (drawn partitions, and the scripts' data), `island` (values inside a
page), `frames` (containers that scripts fill), `links` (from a claim to its time and events), `promises` (results of
each check), `about` (options of the run), `tables` (expectations, faults, measures, settings), `page` (all of it as
HTML), `writing` (a run's report.html).

Its style is `colours.css`, `picture.css`, `page.css`, `messages.css` and `logs.css`. Its scripts, in their order there:
`view.js` (zoom, and the selected time), `messages.js` (arrows), `logs.js` (logs at that time), `page.js` (links between
places).
"""

from audit.report.writing import verdict_of, write_report

__all__ = ["verdict_of", "write_report"]
