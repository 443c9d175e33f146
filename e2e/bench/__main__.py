"""python -m e2e.bench."""

from e2e.bench.cli import main

main()
