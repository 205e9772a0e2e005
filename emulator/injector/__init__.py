"""The injector: faults on links, as rules.

Reading order: `rules` (commands such as `cut az-0` to rules over a topology), `gate` (shut and opened again), `paths`
(what one end of a connection does with its frames while rules are in force), `enforcement` (the rules that one node
knows, over all its paths). All are pure. What a cut does to TCP is `emulator.world.links`.
"""
