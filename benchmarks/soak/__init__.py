"""The soak: a workload on a cluster that stays, an AZ cut every minute, audited to the last record.

    python -m benchmarks.soak [--minutes 60] [--rate 500] [--cut-every-s 60] [--cut-for-s 15] ...

Reading order: `plan` (what is asked, and when cuts come), `memory` (each node's share of memory, sampled), `playing`
(the run: up, topic, workloads, cuts, the end), `ledger` (what clients say became of each record, held against the logs
on disk), `judging` (pure: what of all that must hold), `telling` (table and JSON), `__main__`.
"""
