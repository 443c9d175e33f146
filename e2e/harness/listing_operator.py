"""The operator as it works with an API server that streams no lists: it asks for each of them.

python -m e2e.harness.listing_operator run --kubeconfig FILE --port 0
"""

from typing import Any
from unittest.mock import patch

from baoctl.cli import main
from runtime.cache import informer
from runtime.cache.reflector import Reflector


class Lister(Reflector):
    """Knows from the start what the server would tell it."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **{**options, "watch_list": False})


if __name__ == "__main__":
    with patch.object(informer, "Reflector", Lister):
        main()
