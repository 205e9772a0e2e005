"""The soak: a workload on a long-running cluster, an AZ cut every minute, fully audited.

    python -m verification.soak [--minutes 60] [--rate 500] [--cut-every-s 60] [--cut-for-s 15] ...

Reading order: `soak_plan` (options, and the cuts' schedule), `process_memory` (each node's share of memory, sampled),
`soak_run` (the run: up, topic, workloads, cuts, the end), `ledger` (clients' outcomes of each record against the logs
on disk), `soak_verdict` (pure: the required results), `soak_output` (table and JSON), `__main__`.
"""
