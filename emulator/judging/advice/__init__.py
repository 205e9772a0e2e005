"""Advice: single faults that break promises under given settings, reasons, and remedies.

`advice_cluster` (who is there), `running` (the same of one that runs), `settings_sense_check` (settings that leave
nothing to ask), `single_faults` (all that is gone through, each with its moment), `pairs` of them, `advice_workload` (a
fault as the text of a scenario), `availability` (who waits, and how long), `outcomes` (what one run says of each
promise), `advice_runs` (faults and seeds on all cores), `summary` (outcomes of one fault over its seeds), `loss_causes`
(what breaks in many pairs, told once), `remedies` (changes of settings, by size), `recommendation` (the fewest that end
most findings), `advice` (what breaks, and the smallest change that ends it); `advice_output`, `advice_text` and
`advice_page` (for people).
"""
