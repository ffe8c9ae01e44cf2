"""The command line: strings become objects here, and nowhere below. One file, one command."""

import os
import sys
from collections.abc import Sequence

import cyclopts
from cyclopts import App

import sbibench
from sbibench.cli.console import err
from sbibench.cli.summaries import summary
from sbibench.core.errors import SbibenchError, UsageError

COMMANDS = {
    "tasks": "listing:tasks",
    "algorithms": "listing:algorithms",
    "metrics": "listing:metrics",
    "checks": "listing:checks",
    "run": "single:run",
    "check": "check:check",
    "diagnose": "diagnose:diagnose",
    "choose": "choose:choose",
    "compare": "compare:compare",
    "reference": "references:reference",
    "report": "report:report",
    "suite": "suites:app",
    "results": "stored:app",
}
"""Each is imported when it is called: a list, or a table of results, needs no JAX."""


def application(*, described: bool = False) -> App:
    """Return the command line; to list its commands they are to be described."""
    made = App(
        name="sbibench",
        help="A benchmark of simulation-based inference.",
        version=sbibench.__version__,
        help_format="rich",
    )
    for name, where in COMMANDS.items():
        told = summary(where) if described else None
        made.command(f"sbibench.cli.{where}", name=name, help=told)
    return made


app = application()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 all done, 1 some run failed, 2 wrong usage."""
    # One XLA thread, as in a campaign's workers, so that results are the same. Before JAX starts.
    os.environ.setdefault("NPROC", "1")
    sys.path.insert(0, os.getcwd())  # noqa: PTH109 - where people keep their own modules
    words = sys.argv[1:] if arguments is None else list(arguments)
    listed = not words or words[0] in app.help_flags
    try:
        status = (application(described=True) if listed else app)(
            words,
            exit_on_error=False,
            print_error=False,
            result_action="return_value",
        )
    except (SbibenchError, cyclopts.CycloptsError) as error:
        err.print(
            "error:", " ".join(str(error).split()), markup=False, highlight=False, soft_wrap=True
        )
        known = isinstance(error, SbibenchError) and not isinstance(error, UsageError)
        sys.exit(1 if known else 2)
    except OSError as error:  # what the file system refuses
        err.print(f"error: {error}", markup=False, highlight=False, soft_wrap=True)
        sys.exit(2)
    except KeyboardInterrupt:
        err.print("stopped; the same command goes on from here", markup=False)
        sys.exit(130)
    sys.exit(status if isinstance(status, int) else 0)
