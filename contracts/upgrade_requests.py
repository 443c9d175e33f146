"""The requests to an upgrade. Imports no pydantic, so that the verbs of `baoctl` start faster."""

from typing import Final, Literal, get_args

UpgradeRequest = Literal["retry", "promote", "rollback", "cleanup"]
UPGRADE_REQUESTS: Final[tuple[UpgradeRequest, ...]] = get_args(UpgradeRequest)
"""The fields of UpgradeRequests; UpgradeRequestsStatus has `last_handled_<field>` for each."""
