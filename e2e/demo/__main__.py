"""python -m e2e.demo."""

from e2e.demo.cli import main

main()
