"""spec.tls: who owns the certificates of the servers.

Uses contracts.api.meta. Part of ClusterSpec.
"""

from typing import Annotated, Literal

from pydantic import Field

from contracts.api.meta import (
    ApiModel,
    Duration,
    SecretReference,
    StorageSize,
    SubdomainName,
    as_set,
)

TlsMode = Literal["OperatorManaged", "External", "ACME"]
CacheMode = Literal["ManagedPVC", "ExistingPVC"]

SubjectName = Annotated[
    str, Field(pattern=r"^(\*\.)?[A-Za-z0-9:]([A-Za-z0-9.:_-]*[A-Za-z0-9:])?$", max_length=253)
]
AcmeDomain = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$",
        min_length=1,
        max_length=253,
    ),
]


class CacheVolume(ApiModel):
    """One volume in which all servers keep their ACME account, orders and certificates."""

    mode: CacheMode = Field(
        description=(
            "ManagedPVC: the operator makes the claim <name>-acme-cache, which outlives the "
            "cluster. ExistingPVC: a claim of yours. Either must be ReadWriteMany."
        ),
        examples=["ManagedPVC"],
    )
    existing_claim_name: SubdomainName | None = Field(
        default=None,
        description="Claim to mount, with mode ExistingPVC only.",
        examples=["acme-cache"],
    )
    size: StorageSize | None = Field(
        default=None,
        description=(
            "Size of the claim, a quantity of bytes, with mode ManagedPVC only; left out, 1Gi."
        ),
        examples=["1Gi"],
    )
    storage_class_name: SubdomainName | None = Field(
        default=None,
        description=(
            "Storage class of the claim, with mode ManagedPVC only; left out, the default class. "
            "It must offer ReadWriteMany."
        ),
        examples=["nfs"],
    )


class Acme(ApiModel):
    """The ACME client that is built into the servers."""

    directory_url: str = Field(
        alias="directoryURL",
        description="Directory of the ACME server, an https URL that the pods can reach.",
        examples=["https://acme.example.com/directory"],
        pattern=r"^https://[A-Za-z0-9\[][A-Za-z0-9._~:/?&=%\[\]-]*$",
        min_length=9,
        max_length=1024,
    )
    domain: AcmeDomain | None = Field(
        default=None,
        description="Older spelling of domains with one entry; excludes domains.",
        examples=["bao.example.com"],
    )
    domains: tuple[AcmeDomain, ...] | None = Field(
        default=None,
        description=(
            "Names to ask certificates for. Servers and the operator know each other by the first "
            "one that holds .svc, or else by the first; left out, <name>-acme.<namespace>.svc."
        ),
        examples=[["bao.example.com"]],
        min_length=1,
        max_length=32,
        json_schema_extra=as_set(),
    )
    email: str | None = Field(
        default=None,
        description="Mail address of the ACME account.",
        examples=["ops@example.com"],
        pattern=r"^[^\s@\"]+@[^\s@\"]+$",
        max_length=254,
    )
    ca_secret_ref: SecretReference | None = Field(
        default=None,
        description=(
            "Secret of yours for a private ACME server: ca.crt holds the authority of its "
            "directory, pki-ca.crt the one that signs the certificates. Left out, the authorities "
            "of the image and of the operator's host are trusted."
        ),
    )
    shared_cache: CacheVolume | None = Field(
        default=None,
        description=(
            "Volume that the servers share. Needed with more than one server: the ACME server may "
            "check a name at any of them."
        ),
    )


class ExternalTls(ApiModel):
    """Where your own certificates are. They are read, and never changed or deleted."""

    server_secret_ref: SecretReference | None = Field(
        default=None,
        description=(
            "Secret with tls.crt (the certificate, then its intermediates), tls.key and ca.crt; "
            "left out, <name>-tls-server."
        ),
    )
    ca_secret_ref: SecretReference | None = Field(
        default=None,
        description="Secret with ca.crt, which clients trust; left out, <name>-tls-ca.",
    )


class Tls(ApiModel):
    """Certificates of the servers."""

    enabled: bool = Field(
        default=True,
        description=(
            "Serve HTTPS. Must be true: probes, raft joins and the operator speak TLS only."
        ),
    )
    mode: TlsMode = Field(
        default="OperatorManaged",
        description=(
            "Who owns the certificates. OperatorManaged: the operator runs a certificate "
            "authority for this cluster (10 years) and issues the server certificate (365 days). "
            "External: Secrets of yours. ACME: each server asks an ACME server by itself."
        ),
    )
    rotation_period: Duration = Field(
        default="720h",
        description=(
            "Renew the server certificate when less than this is left of its 365 days. A Go "
            "duration from 1h to 8736h; used with mode OperatorManaged."
        ),
        examples=["720h"],
    )
    extra_sans: tuple[SubjectName, ...] = Field(
        default=(),
        alias="extraSANs",
        description=(
            "More DNS names or IP addresses for the server certificate, beside the names of the "
            "pods and Services, which are always in it; used with mode OperatorManaged."
        ),
        examples=[["bao.example.com", "192.0.2.10"]],
        max_length=64,
        json_schema_extra=as_set(),
    )
    rotate_ca_at: Annotated[str, Field(min_length=1, max_length=64)] | None = Field(
        default=None,
        alias="rotateCAAt",
        description=(
            "Replace the certificate authority, with an overlap, whenever this text changes; used "
            "with mode OperatorManaged. An authority near its end is replaced without being asked."
        ),
        examples=["2026-01-31T12:00:00Z"],
    )
    ca_overlap: Duration = Field(
        default="24h",
        alias="caOverlap",
        description=(
            "How long both authorities are trusted before the new one signs, and again before the "
            "old one is dropped. A Go duration from 1s to 720h; clients must read the authorities "
            "anew within it."
        ),
        examples=["24h"],
    )
    external: ExternalTls | None = Field(
        default=None, description="Where your own certificates are, with mode External only."
    )
    acme: Acme | None = Field(
        default=None, description="The ACME client of the servers, with mode ACME only."
    )
