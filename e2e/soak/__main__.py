"""python -m e2e.soak."""

from e2e.soak.cli import main

main()
