"""Advice: single faults that break promises under given settings, reasons, and remedies.

Reading order: `advice_cluster` (nodes and settings of a cluster), `running` (the same of a running cluster),
`settings_sense_check` (settings without redundancy), `single_faults` (all faults, each with its moment), `pairs` (two
faults), `advice_workload` (a fault as a scenario's text), `availability` (longest waits of writes and reads),
`outcomes` (a run's result for each promise), `advice_runs` (faults and seeds on all cores), `summary` (outcomes of one
fault over its seeds), `loss_causes` (violations of many pairs by cause), `remedies` (changes of settings, by size),
`recommendation` (the fewest changes that end most findings), `advice` (violations, each with its smallest remedy),
`advice_output` (data of the report), `advice_text` and `advice_page` (the report as text and page), `advice_findings`
(violations by change, and the change's lines in the settings files), `advice_sarif` and `advice_cases` (for CI).
"""
