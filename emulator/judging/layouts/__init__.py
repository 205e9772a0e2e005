"""Layouts of a cluster over data centers, and what each survives when one of them is lost.

Reading order: `known_layouts` (nodes and replicas of each), `layout_runs` (the loss of each data center, played and
summed up).
"""
