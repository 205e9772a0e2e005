"""Faults that a world carries out, and the effect of link rules on frames. Pure.

Reading order: `machine_fault_kinds` (those of machines and disks, each defined once), `actions` (what else a world is
asked for), `targets` (nodes named by their role: `leader of t-0`), `links` (what a cut does to TCP),
`link_fault_kinds` (faults on links, each defined once), `link_rule_building` (faults to rules over a topology),
`link_words` (words such as `cut az-0` to faults), `gate` (shut and opened again), `stopped_frames`, `link_paths`
(what one end of a connection does with its frames while rules are in force), `enforcement` (the rules that one node
knows, over all its paths). Faults of disks are `emulator.storage.storage_faults`.
"""
