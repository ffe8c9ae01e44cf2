"""The versions of everything that results depend on, for records."""

import importlib.metadata
import json
import platform
import re
import subprocess
from contextlib import suppress
from functools import cache
from pathlib import Path

import sbibench
from sbibench.core import registry

LIBRARIES = (
    "jax", "jaxlib", "equinox", "numpyro", "optax", "diffrax", "numpy", "scipy", "scikit-learn"
)  # fmt: skip


def versions(*names: str) -> dict[str, str]:
    """Return the versions of sbibench, Python and the libraries that compute.

    `commit` is that of the package, with a + where files of it were changed since; it is absent
    where the package comes from no repository.

    Parameters
    ----------
    names
        Of tasks and algorithms; where they come from another package, or need an outside toolbox,
        its version is there, too.
    """
    return _of_this_process() | outside(*names)


def outside(*names: str) -> dict[str, str]:
    """Return the versions of what brings these tasks and algorithms, or is needed by them alone."""
    found: dict[str, str] = {}
    for name in names:
        found |= _outside(name)
    return found


@cache
def _of_this_process() -> dict[str, str]:
    commit = _commit(Path(sbibench.__file__).parent)
    return {
        "sbibench": sbibench.__version__,
        **({"commit": commit} if commit else {}),
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in LIBRARIES},
    }


@cache
def _outside(name: str) -> dict[str, str]:
    """Return the versions of the distributions that bring what is called so, if others do."""
    if toolbox := registry.ALGORITHMS.toolbox(name):
        return _installed(toolbox, *_extra(toolbox))
    module, colon, _ = name.partition(":")
    if colon:
        names = importlib.metadata.packages_distributions().get(module.partition(".")[0], [])
        return {found: importlib.metadata.version(found) for found in sorted(names)}
    points = importlib.metadata.entry_points(name=name)
    homes = [p.dist for p in points if p.group.startswith("sbibench.") and p.dist]
    return {home.name: home.version for home in homes}


def _extra(name: str) -> list[str]:
    """Return the distributions that an extra of sbibench asks for."""
    with suppress(importlib.metadata.PackageNotFoundError):
        asked = importlib.metadata.requires("sbibench") or []
        found = (re.match(rf"([\w.-]+).*;.*extra == ['\"]{name}['\"]", text) for text in asked)
        return sorted({match[1] for match in found if match})
    return []


def _installed(*names: str) -> dict[str, str]:
    """Return the versions of those distributions that are installed."""
    found = {}
    for name in names:
        with suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def _commit(folder: Path) -> str:
    """Return the commit of a package: of the repository it lies in, or was installed from."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(folder), *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=10
        ).stdout.strip()

    with suppress(OSError, subprocess.SubprocessError):
        # A virtual environment may lie in the repository of something else.
        git("ls-files", "--error-unmatch", "__init__.py")
        return git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain", ".") else "")
    with suppress(importlib.metadata.PackageNotFoundError, ValueError, AttributeError):
        origin = importlib.metadata.distribution("sbibench").read_text("direct_url.json")
        return str(json.loads(origin or "{}").get("vcs_info", {}).get("commit_id", ""))
    return ""
