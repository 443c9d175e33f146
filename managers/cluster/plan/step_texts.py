"""What each step of a plan does, in the order of managers.cluster.plan.steps.

Apart from the steps, which import every feature: `baoctl explain steps` only prints this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

STEP_TEXTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "bootstrap": "Plan the configuration and the secrets of the first boot.",
        "audit": "Plan the PVC, and block the pods while it cannot be used.",
        "certs": "Plan the certificates of the mode, and requeue for the next renewal.",
        "green pool": (
            "Plan the configuration of green; that of a pool under deletion is not pruned."
        ),
        "networking": "Plan the Services and the NetworkPolicies of the pods.",
        "identity": "Plan an account for the pods, with rights to their own pods by name.",
        "images": "Gate the pods until their image is verified.",
        "workload": (
            "Plan the StatefulSets, the disruption budget, and at most one replaced pod of each."
        ),
    }
)
"""Name and text of each step."""
