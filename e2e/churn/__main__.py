"""python -m e2e.churn."""

from e2e.churn.cli import main

main()
