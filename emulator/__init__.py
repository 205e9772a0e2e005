"""The emulator: one package for each part.

| package | content |
|---|---|
| `machines` | session ensemble, broker, client, node: pure |
| `storage` | files as Kafka has them: in memory with power loss, on disk |
| `settings` | every setting of Kafka's, and its meaning here |
| `faults` | faults of links, machines and disks |
| `scenario` | a script, its player, results, expectations |
| `worlds` | execution of machines: processes and TCP, a simulated heap, containers, network namespaces; compose files |
| `runs` | from a scenario to a run's directory, and its content |
| `judging` | verdicts on runs: the oracle, recordings, crash testing |
| `cluster` | a long-running cluster, its control server, its dashboard |
| `cli` | the command line |

Beside them: `compilable`, `compiling`, `compiled_modules` (the machines as native code: its modules, its compilation,
its use), `topology` (nodes and availability zones), `check_table` (every check), `run_layout` (files of a run's
directory), `packaged` (paths of scenarios, recordings and topologies), `html_file` (a self-contained page), `identity`
(identity of a process), `old_names` (old names of verbs and keys), `orphans` (processes end with their parent),
`regular_files`, `terminal`, `screen`, `exit_codes`, `toplevel_errors` and `interrupt_redelivery` (input, output and
ending of all our processes).
"""
