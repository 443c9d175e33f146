"""spec.tls: certificates of the servers.

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
    """Volume in which all servers store their ACME account, orders and certificates."""

    mode: CacheMode = Field(
        description=(
            "ManagedPVC: the operator creates the PersistentVolumeClaim <name>-acme-cache, and "
            "keeps it when the cluster is deleted. ExistingPVC: your own PersistentVolumeClaim. "
            "Both must be ReadWriteMany."
        ),
        examples=["ManagedPVC"],
    )
    existing_claim_name: SubdomainName | None = Field(
        default=None,
        description="PersistentVolumeClaim to mount, only with mode ExistingPVC.",
        examples=["acme-cache"],
    )
    size: StorageSize | None = Field(
        default=None,
        description=(
            "Size of the claim, a quantity of bytes, only with mode ManagedPVC; if not set, 1Gi."
        ),
        examples=["1Gi"],
    )
    storage_class_name: SubdomainName | None = Field(
        default=None,
        description=(
            "StorageClass of the claim, only with mode ManagedPVC; if not set, the default class. "
            "It must support ReadWriteMany."
        ),
        examples=["nfs"],
    )


class Acme(ApiModel):
    """Built-in ACME client of the servers."""

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
        description="Deprecated alias of domains with one entry; excludes domains.",
        examples=["bao.example.com"],
    )
    domains: tuple[AcmeDomain, ...] | None = Field(
        default=None,
        description=(
            "Names in the certificates. Servers and the operator verify the first name that "
            "contains .svc, otherwise the first name; if not set, <name>-acme.<namespace>.svc."
        ),
        examples=[["bao.example.com"]],
        min_length=1,
        max_length=32,
        json_schema_extra=as_set(),
    )
    email: str | None = Field(
        default=None,
        description="Email address of the ACME account.",
        examples=["ops@example.com"],
        pattern=r"^[^\s@\"]+@[^\s@\"]+$",
        max_length=254,
    )
    ca_secret_ref: SecretReference | None = Field(
        default=None,
        description=(
            "Your own Secret for a private ACME server: ca.crt has the CA of its directory, "
            "pki-ca.crt the CA that signs the certificates. If not set, the CAs of the image and "
            "of the operator's host are trusted."
        ),
    )
    shared_cache: CacheVolume | None = Field(
        default=None,
        description=(
            "Volume that the servers share. Required with more than one server: the ACME server "
            "may validate a name at any of them."
        ),
    )


class ExternalTls(ApiModel):
    """Secrets with your own certificates. The operator never changes or deletes them."""

    server_secret_ref: SecretReference | None = Field(
        default=None,
        description=(
            "Secret with tls.crt (the certificate, then its intermediates), tls.key and ca.crt; "
            "if not set, <name>-tls-server."
        ),
    )
    ca_secret_ref: SecretReference | None = Field(
        default=None,
        description="Secret with ca.crt, which clients trust; if not set, <name>-tls-ca.",
    )


class Tls(ApiModel):
    """Certificates of the servers."""

    enabled: bool = Field(
        default=True,
        description=(
            "Serve HTTPS. Must be true: probes, raft joins and the operator use only TLS."
        ),
    )
    mode: TlsMode = Field(
        default="OperatorManaged",
        description=(
            "Source of the certificates. OperatorManaged: the operator has a certificate "
            "authority for this cluster (10 years) and issues the server certificate (365 days). "
            "External: your own Secrets. ACME: each server requests them from an ACME server."
        ),
    )
    rotation_period: Duration = Field(
        default="720h",
        description=(
            "Remaining validity at which the server certificate (365 days) is renewed. A Go "
            "duration from 1h to 8736h; used with mode OperatorManaged."
        ),
        examples=["720h"],
    )
    extra_sans: tuple[SubjectName, ...] = Field(
        default=(),
        alias="extraSANs",
        description=(
            "Additional DNS names or IP addresses in the server certificate, which always has the "
            "names of the pods and Services; used with mode OperatorManaged."
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
            "with mode OperatorManaged. The operator replaces it automatically before it expires."
        ),
        examples=["2026-01-31T12:00:00Z"],
    )
    ca_overlap: Duration = Field(
        default="24h",
        alias="caOverlap",
        description=(
            "Time for which both authorities are trusted before the new one signs, and again "
            "before the old one is removed. A Go duration from 1s to 720h, in which clients must "
            "read the new CA certificates."
        ),
        examples=["24h"],
    )
    external: ExternalTls | None = Field(
        default=None,
        description="Secrets with your own certificates, only with mode External.",
    )
    acme: Acme | None = Field(
        default=None, description="ACME client of the servers, only with mode ACME."
    )
