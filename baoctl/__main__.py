"""`python -m baoctl`."""

from baoctl.cli import main

main()
