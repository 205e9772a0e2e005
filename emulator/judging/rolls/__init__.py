"""Rolling restarts: orders of nodes, their cost for clients, a fault at the worst moment.

Reading order: `roll_steps` (orders, and a roll as a scenario's text), `roll_runs` (rolls on all cores, with the waits
of each step).
"""
