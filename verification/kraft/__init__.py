"""KRaft's controllers under random requests and failovers, judged by named invariants, and wrong controllers.

Reading order: `shared_log` (three controllers' log), `controller_invariants` (what must hold), `controller_world` (a
seed's brokers, requests and failovers), `controller_mutants` (wrong controllers).
"""
