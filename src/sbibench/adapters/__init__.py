"""One file, one algorithm of an outside toolbox."""
