"""Where in somebody's own code an error arose."""

import sysconfig
import traceback
from pathlib import Path

_OURS = Path(__file__).parents[1]
_LIBRARIES = tuple(
    Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")
)


def line_of(error: BaseException) -> str:
    """Return file:line of the innermost call that is in no library and not of this package.

    The file is told relative to the working directory where it lies in it. Empty where all of the
    code is a library's, or no file's.
    """
    places = [
        (frame.filename, frame.lineno)
        for frame in traceback.extract_tb(error.__traceback__)
        if _own(frame.filename)
    ]
    if isinstance(error, SyntaxError) and error.filename and _own(error.filename):
        places.append((error.filename, error.lineno))
    if not places:
        return ""
    path, line = places[-1]
    here = Path.cwd()
    shown = Path(path).relative_to(here) if Path(path).is_relative_to(here) else path
    return f"{shown}:{line}"


def told(error: BaseException) -> str:
    """Return class and text of an error, and where in somebody's own code it arose."""
    what = f"{type(error).__name__}: {error}".strip()
    line = line_of(error)
    return f"{what} ({line})" if line else what


def _own(filename: str) -> bool:
    """Return whether this is the file of somebody's own code."""
    path = Path(filename)
    if filename.startswith("<") or "site-packages" in path.parts or path.is_relative_to(_OURS):
        return False
    return not any(path.is_relative_to(place) for place in _LIBRARIES)
