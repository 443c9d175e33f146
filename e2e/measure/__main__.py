"""python -m e2e.measure."""

from e2e.measure.cli import main

main()
