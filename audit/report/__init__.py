"""The report: one page that shows the events of a run and its verdict.

Needs no Spark and no network.

Reading order: `report_records` (a bounded part of the events), `report_timeline` (intervals, series and marks),
`report_input` (events as a timeline), `moments` (times of rare events), `report_messages` (frames between nodes, and
stopped ones), `report_logs` (replicas' logs over time), `played` (the scenario), `claims` (statements of the verdict,
with time and events). Then the drawing: `thinning` (merges dense marks), `page_layout` (positions), `marks` (marks of
single events), `report_svg` (the timeline as SVG), `legend` (meaning of the marks), `drawn` (drawn partitions, and the
scripts' data), `island` (values inside a page), `report_frames` (containers that scripts fill), `report_links` (from a
claim to its time and events), `report_promises` (results of each check), `about` (options of the run), `tables`
(expectations, faults, measures, settings), `report_page` (all of it as HTML), `writing` (a run's report.html).

Its style is `colours.css` of the live page (`emulator.cluster.page`), `picture.css`, `page.css`, `messages.css` and
`logs.css`. Its scripts, in their order there:
`view.js` (zoom, and the selected time), `messages.js` (arrows), `logs.js` (logs at that time), `page.js` (links between
places).
"""

from audit.report.writing import verdict_of, write_report

__all__ = ["verdict_of", "write_report"]
