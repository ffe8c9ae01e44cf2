"""How many threads of this process may compute at the same time."""

import os


def cores() -> int:
    """Return the number of cores that this process may use; OMP_NUM_THREADS may make it fewer."""
    affinity = getattr(os, "sched_getaffinity", None)
    there = len(affinity(0)) if affinity else os.cpu_count() or 1
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return min(there, int(asked)) if asked.isdigit() and int(asked) else there
