"""Tasks, algorithms, metrics and checks by name: one file each, and the file's name is the name.

Listing a kind imports nothing; getting one imports its module alone. Packages from outside add
theirs through the entry point groups `sbibench.tasks`, `sbibench.algorithms`, `sbibench.metrics`,
`sbibench.calibration`, and anybody's own object is reached as `module:name`.

Algorithms of outside toolboxes lie in a folder of their own. What comes before the first underscore
of such a name is the toolbox: the package to import, and the extra that installs it.
"""

import ast
import dataclasses
import importlib
import pkgutil
import sys
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path
from typing import Any

from sbibench.core.errors import UsageError
from sbibench.core.names import unknown
from sbibench.core.whose import told

PRESETS = ("default", "paper")
"""The named settings of an algorithm: the best found, and those of the publication."""


@dataclass(frozen=True)
class Kind:
    """One kind of thing: the folder its files lie in and the constant each file defines.

    `adapters` is one more folder, whose files need the toolbox that their name begins with.
    """

    what: str
    folder: str
    constant: str
    adapters: str | None = None

    def _outside(self) -> dict[str, Any]:  # entry points; libraries bring classes of their own
        group = self.folder
        return {point.name: point for point in metadata.entry_points(group=group)}

    def _inside(self) -> dict[str, str]:
        """Return the folder that each file lies in."""
        return {
            module.name: folder
            for folder in (self.adapters, self.folder)
            if folder is not None
            for module in pkgutil.iter_modules(_places(folder))
            if not module.name.startswith("_")
        }

    def names(self) -> list[str]:
        """Return all registered names, sorted; nothing is imported."""
        return sorted({*self._inside(), *self._outside()})

    def describe(self, name: str) -> str:
        """Return the first paragraph of `docstring`, in one line."""
        return " ".join(self.docstring(name).split("\n\n")[0].split())

    def docstring(self, name: str) -> str:
        """Return the docstring of the file behind a name, or where it is from; not imported."""
        inside = self._inside()
        if name not in inside:
            outside = self._outside()
            return f"from {outside[name].value}" if name in outside else f"from {name}"
        folder = Path(_places(inside[name])[0])
        return ast.get_docstring(ast.parse((folder / f"{name}.py").read_text())) or ""

    def toolbox(self, name: str) -> str | None:
        """Return the outside toolbox that a name needs, None for most."""
        inside = self._inside()
        needs = name in inside and inside[name] == self.adapters
        return name.partition("_")[0] if needs else None

    def missing(self, name: str) -> str | None:
        """Return what to install before a name can be got, None if it can; nothing is imported."""
        toolbox = self.toolbox(name)
        if toolbox is None:
            return None
        spec = util.find_spec(toolbox)
        if spec is not None and spec.origin:  # without one it is any folder of this name
            return None
        return f"the toolbox {toolbox} is not installed: pip install 'sbibench[{toolbox}]'"

    def get(self, name: str) -> Any:
        """Return what is registered under `name`, or the object at `module:name`.

        Raises
        ------
        UsageError
            If there is no such thing, or the toolbox that it needs is not installed.
        """
        if ":" in name:
            return self._checked(name, self._at(name))
        inside = self._inside()
        if name in inside:
            if missing := self.missing(name):
                raise UsageError(f"{name}: {missing}")
            return getattr(importlib.import_module(f"{inside[name]}.{name}"), self.constant)
        outside = self._outside()
        if name not in outside:
            if "." in name:
                raise UsageError(
                    f"no {self.what} named {name!r}; one of your own is written module:name, with "
                    "a colon"
                )
            raise unknown(self.what, name, self.names())
        return self._checked(name, outside[name].load())

    def preset(self, name: str, preset: str = "default") -> Any:
        """Return what is registered under `name` with the settings of this name.

        "default" are those of its dataclass; "paper" are the constant `PAPER` of the same file, or
        the default where there is none.

        Raises
        ------
        UsageError
            If there is no such thing, or no settings of this name.
        """
        if preset not in PRESETS:
            raise unknown("preset", preset, PRESETS)
        cls = self.get(name)
        paper = getattr(sys.modules.get(cls.__module__), "PAPER", None)
        return paper if preset == "paper" and isinstance(paper, cls) else cls()

    def _checked(self, name: str, found: Any) -> Any:
        """Return what somebody else has registered, if it is of this kind."""
        needed = {"task": "problem", "algorithm": "fit"}.get(self.what, "needs")
        settings = isinstance(found, type) and dataclasses.is_dataclass(found)
        if not hasattr(found, needed) or not (self.what == "task" or settings):
            kind = "a Task" if self.what == "task" else f"a dataclass of settings with {needed!r}"
            made = self.what == "algorithm" and callable(found) and not isinstance(found, type)
            how = "; sb.from_function makes one of a function" if made else ""
            raise UsageError(f"{name} is no {self.what}: it should be {kind}{how}")
        if settings and any(
            field.default is field.default_factory is dataclasses.MISSING
            for field in dataclasses.fields(found)
        ):
            raise UsageError(f"{name}: give every setting a default")
        return found

    def _at(self, address: str) -> Any:
        module, _, attribute = address.partition(":")
        if not module or not attribute:
            raise UsageError(f"write {self.what}s of your own as module:name, not {address!r}")
        if module.endswith(".py") or "/" in module:
            raise UsageError(
                f"write the module, not its file: {Path(module).stem}:{attribute}, in the folder "
                "where the file is"
            )
        try:
            found = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module.split(".")[0] and error.name != module:
                raise UsageError(f"importing {module!r} failed: {told(error)}") from error
            raise UsageError(f"no module {module!r} can be imported for {address!r}") from error
        except (Exception, SystemExit) as error:
            raise UsageError(f"importing {module!r} failed: {told(error)}") from error
        if not hasattr(found, attribute):
            raise unknown(f"object in {module}", attribute, [n for n in vars(found) if n[0] != "_"])
        return getattr(found, attribute)


def _places(folder: str) -> list[str]:
    """Return where a folder's files lie; the folder's parents are imported, it is not."""
    spec = util.find_spec(folder)
    return list((spec and spec.submodule_search_locations) or [])


TASKS = Kind("task", "sbibench.tasks", "TASK")
ALGORITHMS = Kind("algorithm", "sbibench.algorithms", "ALGORITHM", adapters="sbibench.adapters")
METRICS = Kind("metric", "sbibench.metrics", "METRIC")
CHECKS = Kind("check", "sbibench.calibration", "CHECK")
