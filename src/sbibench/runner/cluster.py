"""Where the work is done: this machine, a scheduler that others have started, or Slurm jobs."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import dask
from distributed import Client, LocalCluster
from distributed.utils import format_dashboard_link, silence_logging_cmgr

from sbibench.core.cores import cores
from sbibench.core.errors import UsageError
from sbibench.runner.process import dismiss

_SETTINGS = {
    "distributed.admin.log-format": "%(message)s",
    "distributed.admin.low-level-log-length": 10,  # results that were announced are forgotten
    "distributed.scheduler.allowed-failures": 1,
}
_WAIT = 10.0
"""Seconds that a scheduler has to answer."""


@contextmanager
def local(workers: int | None = None) -> Iterator[Client]:
    """Use the cores of this machine, or this many.

    Scheduler and worker are threads of this process; what computes are processes of their own, one
    for each thread of the worker.
    """
    with dask.config.set(_SETTINGS):  # not longer: clusters may end in any order
        started = LocalCluster(
            n_workers=1,
            threads_per_worker=workers or cores(),
            processes=False,
            # Any free port: a second campaign on this machine is no reason for a warning.
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        )
    with started as cluster, Client(cluster, set_as_default=False) as client:
        try:
            yield client
        finally:
            dismiss()


@contextmanager
def existing(address: str) -> Iterator[Client]:
    """Use a scheduler at an address such as tcp://host:8786, or the one that a file names.

    Raises
    ------
    UsageError
        If none answers.
    """
    place: dict[str, Any] = {"address": address}
    if "://" not in address and Path(address).is_file():
        place = {"scheduler_file": address}
    with silence_logging_cmgr(logging.CRITICAL):
        try:
            client = Client(**place, timeout=_WAIT, set_as_default=False)
        except (OSError, ValueError) as error:
            raise UsageError(
                f"no scheduler answers at {address} ({error}); `dask scheduler` starts one and "
                "shows its address"
            ) from error
        with client:
            yield client


@contextmanager
def slurm(jobs: int) -> Iterator[Client]:
    """Submit this many Slurm jobs and use them; more are submitted for those that end.

    What a job asks for is in dask's own configuration under `jobqueue.slurm`; by default it has one
    core and 4 GiB.

    Raises
    ------
    UsageError
        If dask-jobqueue is not installed, or there is no Slurm here.
    """
    with dask.config.set(_SETTINGS), slurm_cluster() as cluster, Client(cluster) as client:
        cluster.adapt(minimum_jobs=jobs, maximum_jobs=jobs)
        yield client


def slurm_cluster() -> Any:
    """Return a scheduler in this process that can submit Slurm jobs, and has submitted none."""
    try:
        from dask_jobqueue.slurm import SLURMCluster  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise UsageError("Slurm needs dask-jobqueue: pip install 'sbibench[slurm]'") from error

    def configured(name: str) -> Any:
        return dask.config.get(f"jobqueue.slurm.{name}")

    cores = configured("cores") or 1
    return SLURMCluster(
        cores=cores,
        processes=configured("processes") or cores,
        memory=configured("memory") or f"{4 * cores} GiB",
        scheduler_options={"dashboard_address": ":0"} | configured("scheduler-options"),
        silence_logs=logging.CRITICAL,
    )


def dashboard(client: Client) -> str | None:
    """Return the address at which a campaign can be watched, or None if there is none."""
    cluster = client.cluster
    if cluster and not find_spec("bokeh"):
        return None  # dask's page is empty
    if isinstance(cluster, LocalCluster):
        port = cluster.scheduler_info["services"].get("dashboard")
        return format_dashboard_link("127.0.0.1", port) if port else None
    return client.dashboard_link or None
