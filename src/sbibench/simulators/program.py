"""A program that reads parameters and writes data."""

import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sbibench.core.errors import SbibenchError, UsageError
from sbibench.simulators.rows import Rows

_PLACE = re.compile(r"\{(theta|theta_\d+|seed|input|output)\}")

_MISSING = {"na", "null", "none", "-"}
"""What programs write for a number that there is not, next to nan."""

_SEEDS = 2**31
"""R and many others take no larger ones."""


@dataclass(frozen=True)
class Command(Rows):
    """See `command`."""

    arguments: tuple[str, ...]
    seconds: float | None = None

    @property
    def identity(self) -> tuple[str, ...]:
        """What results depend on."""
        return self.arguments

    def one(self, seed: int, theta: np.ndarray) -> np.ndarray:
        """Return x [p] of θ [d].

        Raises
        ------
        SbibenchError
            If the program fails, takes too long, or writes something else than numbers.
        """
        values = [repr(float(v)) for v in theta]
        with tempfile.TemporaryDirectory(prefix="sbibench-") as folder:
            read, written = Path(folder, "theta.txt"), Path(folder, "x.txt")
            read.write_text("".join(f"{v}\n" for v in values))
            known = {"seed": str(seed % _SEEDS), "input": str(read), "output": str(written)}
            known |= {"theta": " ".join(values)}
            known |= {f"theta_{i + 1}": v for i, v in enumerate(values)}
            said = self._run(self._filled(values, known), values, known["seed"])
            if self._uses("output"):
                if not written.exists():
                    raise SbibenchError(f"{self.arguments[0]} wrote no file {{output}}")
                said = written.read_text()
        return self._parsed(said)

    def _uses(self, *places: str) -> bool:
        return any(p in places for a in self.arguments for p in _PLACE.findall(a))

    def _filled(self, values: list[str], known: dict[str, str]) -> list[str]:
        filled: list[str] = []
        for argument in self.arguments:
            if argument == "{theta}":
                filled += values
                continue
            places = _PLACE.findall(argument)
            if unknown := [place for place in places if place not in known]:
                raise UsageError(f"{{{unknown[0]}}} in a command, but θ has {len(values)} numbers")
            words = _PLACE.split(argument)  # text and names of places by turns
            words[1::2] = [known[place] for place in places]
            filled.append("".join(words))
        return filled

    def _run(self, arguments: list[str], values: list[str], seed: str) -> str:
        try:
            done = subprocess.run(
                arguments,
                input=" ".join(values) + "\n",
                capture_output=True,
                text=True,
                check=False,
                timeout=self.seconds,
                env=os.environ | {"SBIBENCH_SEED": seed},
            )
        except subprocess.TimeoutExpired as error:
            raise SbibenchError(f"{arguments[0]} took more than {self.seconds:g} s") from error
        except OSError as error:
            raise UsageError(f"{arguments[0]} can't be run: {error}") from error
        if done.returncode:
            last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:] or ["nothing"]
            raise SbibenchError(
                f"{arguments[0]} ended with exit status {done.returncode} and said: {last[0]}"
            )
        return done.stdout

    def _parsed(self, said: str) -> np.ndarray:
        words = said.replace(",", " ").replace(";", " ").split()
        try:
            found = [np.nan if w.lower() in _MISSING else float(w) for w in words]
        except ValueError as error:
            raise SbibenchError(
                f"{self.arguments[0]} wrote something else than numbers: {error}"
            ) from error
        if not found:
            raise SbibenchError(f"{self.arguments[0]} wrote no numbers")
        return np.array(found)


def command(arguments: Sequence[str], *, seconds: float | None = None) -> Command:
    """Return a `simulate_batch` that runs a program once for each row.

    The program gets the numbers of θ on its standard input, in one line, and a seed below 2³¹ in
    the environment variable SBIBENCH_SEED; it writes x to its standard output, numbers separated by
    blanks, commas or lines, nan or NA where there is none. No shell is between.

    Parameters
    ----------
    arguments
        The program and its arguments. In them {seed} is replaced, {theta_1} and so on by one
        parameter, an argument {theta} by d arguments, {input} by the name of a file with one
        parameter a line, and {output} by the name of a file that x is read from in place of the
        output.
    seconds
        After which the program is killed.

    Raises
    ------
    UsageError
        If this is no command.
    """
    if isinstance(arguments, str) or not arguments:
        raise UsageError(f"a command is a list, as ['./model', '{{theta}}'], not {arguments!r}")
    if seconds is not None and not seconds > 0:
        raise UsageError(f"seconds are positive, not {seconds!r}")
    return Command(tuple(str(a) for a in arguments), seconds)
