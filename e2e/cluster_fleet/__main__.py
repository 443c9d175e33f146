"""python -m e2e.cluster_fleet."""

from e2e.cluster_fleet.cli import main

main()
