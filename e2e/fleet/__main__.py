"""python -m e2e.fleet."""

from e2e.fleet.session import main

main()
