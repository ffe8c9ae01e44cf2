"""Two stores become one; copying the files of one over the other would do, too."""

import msgspec

from sbibench.store.results import Results


def merge(into: Results, source: Results) -> int:
    """Copy the runs that a store lacks, or has only as not done, from another; return how many.

    Of runs that both have done, metrics that the store lacks are copied.
    """
    copied = 0
    for record in source:
        known = into.read(record.spec.id)
        if known is None or (known.status != "done" and record.status == "done"):
            into.write(record, source.samples(record.spec.id))
            copied += 1
        elif new := {*record.metrics} - {*known.metrics}:
            told = {
                name: {m: v for m, v in getattr(record, name).items() if m in new}
                | getattr(known, name)
                for name in ("metrics", "errors")
            }
            missing = {m: why for m, why in known.missing.items() if m not in new}
            into.update(msgspec.structs.replace(known, missing=missing, **told))
            copied += 1
    return copied
