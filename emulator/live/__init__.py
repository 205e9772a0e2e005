"""A cluster that stays: a process of its own holds it, outlives the command that started it, and takes orders.

    faultline up  --->  supervisor (own session)  --- forks --->  brokers, session servers, clients
    faultline cut az-0  --->  its door: one JSON line with the run's token  --->  one line back

Reading order: `requests` (what may be asked, and the answer), `door` (who knocks, and how much of it is let in), `ask`
(the asker's side), `registry` (which clusters there are: RUN_DIR/cluster.json), `words` (nearest valid names),
`link_faults`, `machine_faults`, `desk` (steps and errands handed to the live player), `returning` (started brokers,
until they are registered), `client_work` (produce, consume, topics), `workloads`, `status` (what nodes think, side by
side), `cluster` (one object that answers every request), `holding` (the cluster and its door, until it ends), `given`
(its settings), `specification` (what `up` writes down), `supervisor` (the process), `attached` (the process in a
container), `launch` (up), `ending` (down) and `moment` (its events, while it goes on writing them).
"""
