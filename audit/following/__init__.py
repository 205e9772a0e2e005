"""Live audit: follows a run while it is written, and prints provisional findings.

Reading order: `finding` (what is told: the difference between two looks), `event` (what is read of one), then those
who watch, all of them pure: `committed` (what controllers wrote too late), `windows` (two in one office), `logs` (what
replicas hold, and what is lost), `answers` (whose produces nobody answers), `emulator.judging.standstills`
(processes that did not run), `followed` (all of them together, in the
order of the run's clock). `tail` takes new lines from files that grow, `stream` has Spark read them, `telling` prints
what came of it, `follow` goes round until the run is over; `command` is what the command line calls.

Reading order: `finding` (the difference between two looks), `event` (fields that are read of an event). Then the
watchers, all of them pure: `committed` (controllers' late writes), `windows` (two nodes in one role), `logs` (contents
of replicas' logs, and lost records), `answers` (unanswered produces), `followed` (all of them together, in the order of
the run's clock). `tail` takes new lines from files that grow, `stream` has Spark read them, `telling` prints findings,
`follow` repeats that until the run is over; `command` is the function of the command line.

A finding may be withdrawn. At the end of a run the findings equal those of the audit of the whole run, for dual-leader,
dual-controller and lost-acknowledged: tests/audit/following compares both.
"""
