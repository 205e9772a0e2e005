"""The injector: faults on links, as rules.

Reading order: `rules` (commands such as `cut az-0` to rules over a topology), `enforcement` (what the two
ends of a connection do with their frames while rules are in force). Both are pure. What a cut does to TCP
is `emulator.world.links`.
"""
