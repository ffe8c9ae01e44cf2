"""One file, one check: each defines a function of arrays with the file's name, and `CHECK`."""

from sbibench.core.functions import call_by_name
from sbibench.core.registry import CHECKS

call_by_name(CHECKS)
