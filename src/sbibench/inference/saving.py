"""A fitted posterior as one file, for another process and a later version; and as ArviZ has it.

The file is a zip: `header.json` with the format's number, the version of sbibench, the posterior's
class and its parts, and beside it the arrays as `.npy`. Nothing is pickled, and what is imported is
of this package, so a stranger's file runs no code of the stranger's.
"""

import inspect
import json
import warnings
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Self

import numpy as np
from jaxtyping import PRNGKeyArray

import sbibench
from sbibench.core.errors import UsageError
from sbibench.core.files import write_whole
from sbibench.core.posterior import Info
from sbibench.inference import packing

FORMAT = 1
"""The number of the format that is written; those up to it are read."""

_HEADER = "header.json"

_DAMAGED = (
    zipfile.BadZipFile, zlib.error, EOFError, KeyError, TypeError, ValueError, AttributeError,
    IndexError, NotImplementedError, RecursionError, MemoryError
)  # fmt: skip
"""What reading a file raises that is not what it says it is."""


class Portable:
    """A posterior that can be taken elsewhere.

    A subclass keeps each argument of its constructor as an attribute of that name, with or without
    a leading underscore; `packing` says of what they may be. Only `progress` is not taken along.
    """

    amortized: bool
    info: Info

    def sample(self, key: PRNGKeyArray, n: int, x: Any = None) -> np.ndarray:
        """Draw n samples [n, d], float32."""
        raise NotImplementedError

    def parts(self) -> dict[str, Any]:
        """Return the arguments that it is made from."""
        held = vars(self)
        names = [name for name in inspect.signature(type(self)).parameters if name != "progress"]
        return {name: held[name if name in held else f"_{name}"] for name in names}

    @classmethod
    def from_parts(cls, parts: dict[str, Any]) -> Self:
        """Return the posterior that is made from these parts."""
        return cls(**parts)

    def save(self, path: Path | str) -> None:
        """Write it to one file, which `sbibench.load` reads; what was there is replaced.

        Raises
        ------
        UsageError
            If the file can't be written, or the prior can't be described.
        """
        arrays: dict[str, np.ndarray] = {}
        header = {
            "format": FORMAT,
            "sbibench": sbibench.__version__,
            "posterior": packing.address(type(self)),
            "parts": packing.pack(self.parts(), arrays),
        }

        def write(file: IO[bytes]) -> None:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr(_HEADER, json.dumps(header, indent=1))
                for name, array in arrays.items():
                    with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                        np.lib.format.write_array(entry, array, allow_pickle=False)

        try:
            write_whole(Path(path), write)
        except OSError as error:
            raise UsageError(f"can't write to {path}: {error.strerror or error}") from error

    def to_arviz(self, key: PRNGKeyArray, n: int = 1000, names: Sequence[str] | None = None) -> Any:
        """Return n samples as ArviZ's InferenceData, its group `posterior`, in one chain.

        Parameters
        ----------
        names
            The parameters' names, such as a task's `parameter_names`: each is a variable then.
            Without them there is one variable, the vector `theta`.

        Raises
        ------
        UsageError
            If ArviZ is not installed, or names are not one for each parameter.
        """
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)  # announces its version 1
                import arviz  # noqa: PLC0415 - an extra, and slow to import
        except ImportError as error:
            raise UsageError("to_arviz needs ArviZ: pip install 'sbibench[arviz]'") from error
        samples = self.sample(key, n)[None]
        if names is None:
            return arviz.from_dict(posterior={"theta": samples})
        if len(set(names)) != len(names) or len(names) != samples.shape[-1]:
            raise UsageError(f"{samples.shape[-1]} different names are needed, not {list(names)}")
        variables = {name: samples[..., i] for i, name in enumerate(names)}
        return arviz.from_dict(posterior=variables)


def load(path: Path | str) -> Any:
    """Return the posterior that was saved to this file: the same key gives the same samples.

    It is sampled as before, at other x too if it is amortized, and knows its `info`.

    Raises
    ------
    UsageError
        If there is no such file, it is no saved posterior, it is damaged, or it is of a later
        version that writes another format.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return _read(archive)
    except OSError as error:
        raise UsageError(f"can't read {path}: {error.strerror or error}") from error
    except UsageError as error:
        raise UsageError(f"can't load {path}: {error}") from error
    except _DAMAGED as error:
        raise UsageError(f"{path} is no saved posterior, or it is damaged: {error}") from error


def _read(archive: zipfile.ZipFile) -> Any:
    header = json.loads(archive.read(_HEADER))
    if header["format"] > FORMAT:
        raise UsageError(
            f"sbibench {header['sbibench']} wrote it in format {header['format']}, this is "
            f"{sbibench.__version__}, which reads formats up to {FORMAT}; install a newer one"
        )
    cls = packing.at(header["posterior"])
    if not isinstance(cls, type) or not issubclass(cls, Portable):
        raise UsageError(f"{header['posterior']} is no posterior")
    arrays = {}
    for name in archive.namelist():
        if name != _HEADER:
            with archive.open(name) as entry:
                array = np.lib.format.read_array(entry, allow_pickle=False)
                arrays[name.removesuffix(".npy")] = array
    return cls.from_parts(packing.unpack(header["parts"], arrays))
