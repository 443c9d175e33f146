"""`python -m baoctl.generate`."""

from baoctl.generate.main import main

main()
