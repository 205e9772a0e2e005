"""Cuts by the kernel: packet filter rules in the machines' network namespaces, at speed 1.

Reading order: `rights` (requirements), `filter_rules` (a cut as packet filter rules; pure), `driver` (puts them in
force and lifts them in namespaces), `namespaces` (machines for local processes: a network namespace each). The nodes
receive the rules and record them; they do not act on them.
"""
