"""Advice: single faults that break promises under given settings, reasons, and remedies.

`cluster` (who is there), `running` (the same of one that runs), `sense` (settings that leave nothing to ask), `faults`
(all that is gone through, each with its moment), `pairs` of them, `workload` (a fault as the text of a scenario),
`reasons` (what took a record away, as a sentence), `availability` (who waits, and how long), `outcomes` (what one run
says of each promise), `playing` (faults and seeds on all cores), `summary` (outcomes of one fault over its seeds),
`causes` (what breaks in many pairs, told once), `remedies` (changes of settings, by size), `recommendation` (the fewest
that end most findings), `advice` (what breaks, and the smallest change that ends it); `telling`, `words` and
`page` (for people).
"""
