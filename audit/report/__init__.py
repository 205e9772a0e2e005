"""The report: one page that shows what happened in a run and what was made of it. Needs no Spark and no network.

Reading order: `kept` (a bounded part of the events), `timeline` (intervals, series and marks), `reading` (events as a
timeline), `moments` (when something rare happened), `messages` (who sent what to whom, and what was stopped), `logs`
(what each replica held at any moment), `played` (the scenario), `claims` (what the verdict says, with its moment and
its events). Then what is drawn: `thinning` (what is too dense to be seen), `layout` (where things stand), `marks`
(what has a shape and a moment), `picture` (the timeline as SVG), `legend` (what its marks mean), `drawn` (which
partitions, and what scripts are given of them), `island` (values inside a page), `frames` (what scripts fill), `links`
(from a claim to its moment and events), `promises` (what each check found), `about` (what was played), `tables`
(expectations, faults, measures, settings), `page` (all of it as HTML), `writing` (a run's report.html).

Its style is `colours.css`, `picture.css`, `page.css`, `messages.css` and `logs.css`. Its scripts, in their order there:
`view.js` (zoom, and the moment that is looked at), `messages.js` (arrows), `logs.js` (logs at that moment), `page.js`
(what leads from one place to another).
"""

from audit.report.writing import verdict_of, write_report

__all__ = ["verdict_of", "write_report"]
