"""`python -m emulator` is `faultline`."""

from emulator.cli import main

main()
