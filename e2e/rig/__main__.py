"""``python -m e2e.rig``."""

from e2e.rig.cli import main

main()
