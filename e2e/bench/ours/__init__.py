"""The runtime's side of the benchmark: one mode per process, the result as one line of JSON."""
