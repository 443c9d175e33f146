"""python -m e2e.stream."""

from e2e.stream.session import main

main()
