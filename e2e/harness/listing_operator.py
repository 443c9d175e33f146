"""An operator that lists instead of using streaming lists (sendInitialEvents).

python -m e2e.harness.listing_operator run --kubeconfig FILE --port 0
"""

from typing import Any
from unittest.mock import patch

from baoctl.cli import main
from runtime.cache import informer
from runtime.cache.reflector import Reflector


class Lister(Reflector):
    """A lister that never uses streaming lists."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **{**options, "watch_list": False})


if __name__ == "__main__":
    with patch.object(informer, "Reflector", Lister):
        main()
