"""status.unseal: which keys of the static seal the servers know.

Uses contracts.api.meta. Part of ClusterStatus; contracts.unseal_keys says what the keys mean.
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
"""Where the rotation of a key is; managers.bootstrap.seal.rotation moves it."""


class UnsealStatus(ApiModel):
    """The keys of the static seal that the servers know, and where a rotation is."""

    keys: str = Field(
        default="",
        description=(
            "Keys that the pod template names, as id=file; the servers encrypt with the first and "
            "read with both. Two of them: a rotation is on its way."
        ),
        examples=["2030-01=key-2,operator-generated-v1=key"],
        max_length=1024,
    )
    step: Step = Field(
        default="Settled",
        description=(
            "Where the rotation is. Settled: one key, the one of the spec. Gathering, Spreading, "
            "Switching, Retiring: servers are being replaced. Drawing: a new key is made. "
            "Rewrapping: the root key is to be wrapped with the new key. Refused: the key of the "
            "spec cannot be had, see the conditions."
        ),
    )
