"""The emulator, a room for each part that something plays in it.

| room | holds |
|---|---|
| `machines` | session ensemble, broker, client, node: pure |
| `storage` | files as Kafka has them: in memory with power loss, on disk |
| `settings` | every setting of Kafka's, and what it means here |
| `faults` | what is done to links, machines and disks |
| `scenario` | a script, its player, what came back, what was expected |
| `worlds` | who runs machines: processes and TCP, a simulated heap, containers, network namespaces; compose files |
| `runs` | from a scenario to a run's directory, and what it holds |
| `judging` | what a run is worth: the oracle, recordings, crash testing |
| `cluster` | a cluster that stays, its control server, its dashboard |
| `cli` | the command line |

Beside them: `compilable`, `compiling`, `compiled` (the machines as native code: of which modules, how it is made, when
it is taken), `topology` (nodes and availability zones), `layout` (what lies in a run's directory), `packaged` (where
scenarios, recordings and topologies are), `html_file` (a page that needs nothing else), `identity` (which process is
which), `orphans` (none of ours outlives its parent), `regular_files`, `terminal`, `screen`, `exit_codes`, `last_resort`
and `unheard_interrupts` (how every process of ours reads, prints and ends).
"""
