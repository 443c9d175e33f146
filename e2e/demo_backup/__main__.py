"""python -m e2e.demo_backup."""

from e2e.demo_backup.cli import main

main()
