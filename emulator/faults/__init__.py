"""Faults that a world carries out, and the effect of link rules on frames. Pure.

Reading order: `machines` (faults of machines and disks, each defined once), `actions` (other requests to a world),
`links` (TCP's retransmissions during a cut), `rules` (commands such as `cut az-0` to rules over a topology), `gate` (a
shut or open gate), `stopped`, `paths` (the frames of one end of a connection while rules are in force), `enforcement`
(the rules of one node, over all its paths). Faults of disks are `emulator.storage.faults`.
"""
