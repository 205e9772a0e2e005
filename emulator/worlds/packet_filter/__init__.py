"""Cuts made by the kernel: packet filter rules in the network namespaces of the nodes' machines, at speed 1.

Reading order: `rights` (what this takes), `rules` (a cut as packet filter rules; pure), `driver` (put in force and
lifted in namespaces), `namespaces` (machines for local processes: a network namespace each). The nodes are told of the
rules and note them; they do not act on them.
"""
