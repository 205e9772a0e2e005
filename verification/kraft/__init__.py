"""KRaft's controllers, correct and wrong, under random requests and failovers.

Named invariants judge them.

Reading order: `shared_log` (three controllers' log), `controller_invariants` (what must hold), `controller_world` (a
seed's brokers, requests and failovers), `controller_mutants` (wrong controllers).
"""
