"""The four kinds of things that have a page each, and a page that lists them."""

from collections.abc import Callable
from dataclasses import dataclass

from algorithm_page import algorithm_page
from docstrings import cell, plain, table
from function_page import check_page, metric_page
from task_page import task_page

from sbibench.core import registry
from sbibench.core.errors import SbibenchError
from sbibench.core.registry import Kind


@dataclass(frozen=True)
class Pages:
    """The pages of one kind: one for each name that is registered, whatever is registered."""

    kind: Kind
    title: str
    about: str
    page: Callable[[Kind, str], str]

    def all(self) -> dict[str, str]:
        """Return the text of every page by its name, `index` among them."""
        return {"index": self._index()} | {name: self._one(name) for name in self.kind.names()}

    def _index(self) -> str:
        rows = [[f"[`{n}`]({n}.md)", cell(self.kind.describe(n))] for n in self.kind.names()]
        return f"# {self.title}\n\n{self.about}\n\n" + table(["name", "what it is"], rows)

    def _one(self, name: str) -> str:
        try:
            return self.page(self.kind, name)
        except (SbibenchError, ImportError) as error:  # one that needs what isn't installed
            about = plain(self.kind.describe(name))
            return f"# {name}\n\n{about}\n\nNothing more can be told here: {plain(str(error))}\n"


KINDS = {
    "tasks": Pages(
        registry.TASKS,
        "Tasks",
        "Models whose true posterior is known. `sbibench tasks` lists them, "
        "`sb.get_task(name)` returns one; [one more](../adding/task.md) is one more file.",
        task_page,
    ),
    "algorithms": Pages(
        registry.ALGORITHMS,
        "Algorithms",
        "What turns simulations into a posterior. `sbibench algorithms` lists them, "
        "`sb.get_algorithm(name)` returns one with its default settings; "
        "[one more](../adding/algorithm.md) is one more file.",
        algorithm_page,
    ),
    "metrics": Pages(
        registry.METRICS,
        "Metrics",
        "How far a posterior is off at one observation, judged against the truth. "
        "[How to read them](../reading_metrics.md); [one more](../adding/metric.md) is one more "
        "file.",
        metric_page,
    ),
    "checks": Pages(
        registry.CHECKS,
        "Calibration checks",
        "What pairs of parameters and data say of a posterior, without knowing the true one. "
        "[What they can't see](../reading_metrics.md#calibration-checks); "
        "[one more](../adding/check.md) is one more file.",
        check_page,
    ),
}
