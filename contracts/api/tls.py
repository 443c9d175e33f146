"""spec.tls: who owns the certificates of the servers.

Uses contracts.api.meta. Part of ClusterSpec.
"""

from typing import Annotated, Literal

from pydantic import Field

from contracts.api.meta import ApiModel, Duration, FreeObject, as_set

TlsMode = Literal["OperatorManaged", "External", "ACME"]

SubjectName = Annotated[
    str, Field(pattern=r"^(\*\.)?[A-Za-z0-9:]([A-Za-z0-9.:_-]*[A-Za-z0-9:])?$", max_length=253)
]


class Tls(ApiModel):
    """Certificates of the servers."""

    enabled: bool = Field(
        default=True,
        description=(
            "Serve HTTPS. Must be true: probes, raft joins and clients of the operator speak TLS "
            "only, so a cluster without it could never start."
        ),
    )
    mode: TlsMode = Field(
        default="OperatorManaged",
        description=(
            "Who owns the certificates. OperatorManaged: the operator runs a certificate "
            "authority for this cluster (10 years) and issues the server certificate (365 days). "
            "External and ACME are accepted but not served by this version."
        ),
    )
    rotation_period: Duration = Field(
        default="720h",
        description=(
            "Renew the server certificate when less than this is left of its 365 days. A Go "
            "duration from 1h to 8736h."
        ),
        examples=["720h"],
    )
    extra_sans: tuple[SubjectName, ...] = Field(
        default=(),
        alias="extraSANs",
        description=(
            "More DNS names or IP addresses for the server certificate, beside the names of the "
            "pods and Services, which are always in it."
        ),
        examples=[["bao.example.com", "192.0.2.10"]],
        max_length=64,
        json_schema_extra=as_set(),
    )
    acme: FreeObject | None = Field(
        default=None, description="Settings for mode ACME. Accepted, not served by this version."
    )
