"""A run followed while it is written: what is violated is told within seconds, and is provisional.

Reading order: `finding` (what is told: the difference between two looks), `event` (what is read of one), then those
who watch, all of them pure: `committed` (what controllers wrote too late), `windows` (two in one office), `logs` (what
replicas hold, and what is lost), `answers` (whose produces nobody answers), `emulator.judging.standstills`
(processes that did not run), `followed` (all of them together, in the
order of the run's clock). `tail` takes new lines from files that grow, `stream` has Spark read them, `telling` prints
what came of it, `follow` goes round until the run is over; `command` is what the command line calls.

Whatever is told may be withdrawn. At the end of a run the findings equal what the audit of the whole run finds, for
dual-leader, dual-controller and lost-acknowledged: tests/audit/following holds both against each other.
"""
