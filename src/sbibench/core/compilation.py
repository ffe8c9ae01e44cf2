"""Compiled programs are kept on disk, so that each process does not compile them again."""

import os
from pathlib import Path

import jax


def cache_root() -> Path:
    """Return where things are kept between runs: SBIBENCH_CACHE, or the user's cache directory."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("SBIBENCH_CACHE") or home / "sbibench")


def cache_directory() -> Path:
    """Return where compiled programs are kept."""
    return cache_root() / "compiled"


def keep_compiled_programs() -> None:
    """Keep what this process compiles on disk, and use what others have kept."""
    jax.config.update("jax_compilation_cache_dir", str(cache_directory()))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
