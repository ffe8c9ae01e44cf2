"""`python -m sbibench.cli`."""

from sbibench.cli import main

main()
