"""Names that people mistype: every unknown one is answered with the nearest known one."""

import difflib
from collections.abc import Iterable

from sbibench.core.errors import UsageError


def unknown(what: str, name: str, known: Iterable[str]) -> UsageError:
    """Return the error for an unknown name, with the closest known one as a suggestion."""
    known = sorted(known)
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known) or 'none'}"
    return UsageError(f"no {what} named {name!r}; {hint}")
