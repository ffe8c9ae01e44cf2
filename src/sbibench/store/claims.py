"""Who does what, where several runners fill one store: none does what another is doing."""

import errno
import fcntl
from pathlib import Path

from sbibench.core.errors import StoreError

_BUSY = (errno.EACCES, errno.EAGAIN)


class Claims:
    """The claims of this process on runs of a store, each a locked byte of one file.

    The kernel forgets the locks of a process that has died, of whatever, and those of another
    machine on a shared file system; so there are none that are stale. Where a file system has no
    locks every claim is granted: work may then be done twice, but is still written whole.

    Parameters
    ----------
    folder
        That of the store.

    Raises
    ------
    StoreError
        If the file can't be made.
    """

    def __init__(self, folder: Path) -> None:
        try:
            self._file = (folder / "lock").open("ab")
        except OSError as error:
            raise StoreError(f"can't write {folder / 'lock'}: {error.strerror}") from error

    def take(self, key: str) -> bool:
        """Claim a run, or a fit that runs share, by its hash; return whether nobody else has it."""
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _byte(key))
        except OSError as error:
            return error.errno not in _BUSY
        return True

    def give_back(self, key: str) -> None:
        """Let others have it."""
        try:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _byte(key))
        except OSError:  # there are no locks here
            return

    def __enter__(self) -> "Claims":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _byte(key: str) -> int:
    return int(key[:15], 16)  # file offsets have 63 bits
