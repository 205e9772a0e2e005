"""The machines: an input and the time go in, effects come out. Pure.

Reading order: `session` (the ensemble that keeps who lives and who leads), `broker` (logs, replicas, requests),
`client` (producers, consumers, the client of the recordings), `node` (how parts make the machine of a process). The
controller's part is a package of its own, `controller`.
"""
