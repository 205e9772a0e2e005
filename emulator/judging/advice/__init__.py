"""Advice: single faults that break promises under given settings, reasons, and remedies.

`cluster` (topology and settings), `running` (those of a running cluster), `sense` (rejects contradictory settings),
`faults` (all single faults, each with its moment), `pairs` of them, `workload` (a fault as the text of a scenario),
`reasons` (explains a lost record), `availability` (clients' waiting times), `outcomes` (promises of one run), `playing`
(faults and seeds on all cores), `summary` (outcomes of one fault over its seeds), `causes` (groups pairs by cause),
`remedies` (changes of settings, by size), `advice` (runs all of it: violations, and the smallest change that ends
each); `telling`, `words` and `page` (output).
"""
