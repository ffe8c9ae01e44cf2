"""Two stores become one; copying the files of one over the other would do, too."""

from sbibench.store.results import Results


def merge(into: Results, source: Results) -> int:
    """Copy the runs that a store lacks, or has only as not done, from another; return how many."""
    copied = 0
    for record in source:
        known = into.read(record.spec.id)
        if known is None or (known.status != "done" and record.status == "done"):
            into.write(record, source.samples(record.spec.id))
            copied += 1
    return copied
