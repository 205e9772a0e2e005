"""What the command line does, one module per command; each returns its exit code."""
