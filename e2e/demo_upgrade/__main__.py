"""python -m e2e.demo_upgrade."""

from e2e.demo_upgrade.cli import main

main()
