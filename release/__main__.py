"""`python -m release`."""

from release.main import main

main()
