"""One file, one algorithm: each defines `ALGORITHM`, a frozen dataclass of settings."""
