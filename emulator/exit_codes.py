"""The exit codes of every command (contract of the command line)."""

HELD = 0
"""Every expectation held; a violation that the scenario expects is one of them."""
BROKEN = 1
"""An expectation was broken, or a check was violated that the scenario does not expect."""
UNUSABLE = 2
"""Unusable arguments or input."""
UNKNOWN = 3
"""Evidence is missing, a fault did not take effect, a node died by itself."""
BUG = 70
"""A bug of faultline; its traceback is in a file, whose path is printed."""
INTERRUPTED = 130
"""Interrupted; nothing is left running."""
