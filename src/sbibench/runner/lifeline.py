"""A pipe that nobody writes to: when one end is closed, the process at the other dies."""

import fcntl
import os
import select


def die_with(lifeline: int) -> None:
    """Let the kernel end this process when the other end of the lifeline is closed.

    That is when the process that holds it dies, of a SIGKILL, too. Then comes the signal SIGIO,
    whose default is to kill, and code in C that never returns to Python is no hindrance. (Linux;
    elsewhere the process ends when it next looks for work.)

    Parameters
    ----------
    lifeline
        The file descriptor of the end that is read.
    """
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([lifeline], [], [], 0)[0]:  # it was closed before
        os._exit(1)
