"""Faults that a world carries out, and the effect of link rules on frames. Pure.

Reading order: `machine_fault_kinds` (faults of machines and disks, each defined once), `actions` (other requests to a
world), `targets` (nodes named by their role: `leader of t-0`), `links` (TCP's retransmissions in a cut),
`link_fault_kinds` (faults on links, each defined once), `link_rule_building` (faults to rules over a topology),
`link_words` (words such as `cut az-0` to faults), `gate` (one direction of a connection, shut or open), `link_paths`
(frames at one end of a connection while rules are in force), `enforcement` (all rules of one node, over all its paths).
Faults of disks are in `emulator.storage.storage_faults`.
"""
