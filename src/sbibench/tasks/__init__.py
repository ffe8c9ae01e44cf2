"""One file, one task: each defines `TASK`."""
