"""One file, one metric: each defines a function of arrays with the file's name, and `METRIC`."""

from sbibench.core.functions import call_by_name
from sbibench.core.registry import METRICS

call_by_name(METRICS)
