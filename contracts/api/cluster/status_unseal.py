"""status.unseal: the static seal keys of the servers.

Uses contracts.api.meta. Part of ClusterStatus; contracts.unseal_keys parses the keys.
"""

from typing import Literal

from pydantic import Field

from contracts.api.meta import ApiModel

Step = Literal[
    "Settled",
    "Refused",
    "Gathering",
    "Drawing",
    "Spreading",
    "Switching",
    "Rewrapping",
    "Retiring",
]
"""The step of a key rotation, which managers.bootstrap.seal.rotation sets."""


class UnsealStatus(ApiModel):
    """Static seal keys of the servers, and the progress of a rotation."""

    keys: str = Field(
        default="",
        description=(
            "Keys in the pod template, as id=file. The servers encrypt with the first key and "
            "decrypt with both. During a rotation there are two keys."
        ),
        examples=["2030-01=key-2,operator-generated-v1=key"],
        max_length=1024,
    )
    step: Step = Field(
        default="Settled",
        description=(
            "Step of the rotation. Settled: there is only the key of the spec. Gathering, "
            "Spreading, Switching, Retiring: servers are being replaced. Drawing: a new key is "
            "being generated. Rewrapping: the root key must be wrapped with the new key. Refused: "
            "the key of the spec is not available, see the conditions."
        ),
    )
