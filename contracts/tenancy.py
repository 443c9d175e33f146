"""The objects in the namespace of a tenant: the names of its objects, and which Secrets a cluster
needs.

Uses contracts.tls_names and the API model. Called by the provisioner, which grants, and by the
controller, which waits for the grant: both call the same function for the same object, so that a
right exists before it is used. Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from contracts import tls_names
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.violation import InvalidClusterError
from contracts.naming import names
from contracts.unseal_keys import KEYS_SOUGHT, KeyRing
from runtime.types import Object, key_of

TENANT_ROLE: Final = "openbao-operator-tenant-role"
TENANT_BINDING: Final = "openbao-operator-tenant-rolebinding"
READER_ROLE: Final = "openbao-operator-tenant-secrets-reader"
WRITER_ROLE: Final = "openbao-operator-tenant-secrets-writer"
READER_BINDING: Final = f"{READER_ROLE}-rolebinding"
WRITER_BINDING: Final = f"{WRITER_ROLE}-rolebinding"
QUOTA: Final = "openbao-operator-tenant-quota"
LIMITS: Final = "openbao-operator-tenant-limits"

ROLES: Final = (TENANT_ROLE, READER_ROLE, WRITER_ROLE)
BINDINGS: Final = (TENANT_BINDING, READER_BINDING, WRITER_BINDING)

FINALIZER: Final = "openbao.org/openbaotenant-finalizer"
GRANT_FINALIZER: Final = "openbao.org/tenant-grant"
"""On Roles and bindings: a deleted namespace loses its Roles first, and no controller would
have the right to finalize its clusters, which would then keep it forever."""

DIGEST = 16
# How many unseal keys beyond the newest of the status are granted: the next one, the one after it
# that a deletion looks for, and one more for a status that is a write behind.
KEYS_AHEAD = 3
# A status is only text: a user may have written any number into it.
KEYS_MAX = 512


@dataclass(frozen=True, slots=True)
class SecretAccess:
    """The Secrets of one cluster by name: those that are only read, and those that are written.

    The right to write one includes the right to read it, so no name is in both.
    """

    readers: frozenset[str]
    writers: frozenset[str]

    @property
    def digest(self) -> str:
        """Short name of exactly this access; an order of names, and no secret."""
        lines = (
            *(f"read {name}\n" for name in sorted(self.readers)),
            *(f"write {name}\n" for name in sorted(self.writers)),
        )
        return hashlib.sha256("".join(lines).encode()).hexdigest()[:DIGEST]

    def allows(self, name: str) -> bool:
        """Whether the Secret may be read."""
        return name in self.readers or name in self.writers


def access_of(live: Object) -> SecretAccess:
    """The access of a cluster as the API server holds it.

    A cluster whose spec cannot be read may still be deleted, and keeps its keys then: it needs the
    Secrets that only the operator makes, and none that a spec could name.
    """
    try:
        return secret_access(OpenBaoCluster.from_object(live))
    except InvalidClusterError:
        name = key_of(live).name
        if not names.is_cluster_name(name):
            return SecretAccess(frozenset(), frozenset())
        return SecretAccess(frozenset(), frozenset(_own_keys(name, _ring_of(live))))


def secret_access(cluster: OpenBaoCluster) -> SecretAccess:
    """Every Secret that the operator ever asks for on behalf of a cluster; of its spec and status.

    Not those that pods alone mount: the kubelet reads them with rights of its own.
    """
    name = cluster.metadata.name
    if not names.is_cluster_name(name):
        return SecretAccess(frozenset(), frozenset())
    writers = frozenset(_written(cluster))
    # Servers serve from it until they are replaced, also when the spec has moved on.
    readers = {names.tls_server_secret(name), *_certificates(cluster), *_pull_secrets(cluster)}
    if cluster.spec.unseal.secret_name is not None:
        readers.add(cluster.spec.unseal.secret_name)
    return SecretAccess(frozenset(readers) - writers, writers)


def kept_secrets(cluster: OpenBaoCluster | None, name: str) -> tuple[str, ...]:
    """The Secrets that outlive the cluster with deletionPolicy Retain, whether they exist or not.

    None stands for a cluster whose spec cannot be read.
    """
    return tuple(_own_keys(name, "")) if cluster is None else _kept(cluster)


def _ring_of(live: Object) -> str:
    """Read the keys of the static seal from an untrusted status."""
    status = live.get("status")
    unseal = status.get("unseal") if isinstance(status, dict) else None
    keys = unseal.get("keys") if isinstance(unseal, dict) else None
    return keys if isinstance(keys, str) else ""


def _written(cluster: OpenBaoCluster) -> tuple[str, ...]:
    name = cluster.metadata.name
    if cluster.spec.tls.mode != "OperatorManaged":
        return _kept(cluster)
    return (names.tls_ca_secret(name), names.tls_server_secret(name), *_kept(cluster))


def _kept(cluster: OpenBaoCluster) -> tuple[str, ...]:
    spec, status, name = cluster.spec, cluster.status, cluster.metadata.name
    kept: list[str] = []
    if spec.unseal.type == "static" and spec.unseal.secret_name is None:
        kept += _unseal_keys(name, status.unseal.keys if status.unseal else "")
    # selfInit may be switched on later: the token of the first boot is there all the same.
    if not spec.self_initializes or (status.initialized and not status.self_initialized):
        kept.append(names.root_token_secret(name))
    # Encrypted to users; they may exist though the spec no longer requests them.
    return (*kept, names.recovery_shares_secret(name))


def _own_keys(name: str, ring: str) -> Iterable[str]:
    return (
        *_unseal_keys(name, ring),
        names.root_token_secret(name),
        names.recovery_shares_secret(name),
    )


# Asked for in every pass; a rotation is rare.
@lru_cache(maxsize=1024)
def _unseal_keys(name: str, ring: str) -> tuple[str, ...]:
    key_ring = KeyRing.parse(ring)
    # The first is granted before a status names it: what is granted must not change on its account.
    # Without a status every one that may be there is needed, to see which key opens the data.
    newest = key_ring.newest if key_ring else 1
    last = min(max(newest + KEYS_AHEAD, KEYS_SOUGHT), KEYS_MAX)
    return tuple(names.unseal_key_secret(name, generation) for generation in range(1, last + 1))


def _certificates(cluster: OpenBaoCluster) -> Iterator[str]:
    references = (
        tls_names.server_secret(cluster),
        tls_names.authority_secret(cluster),
        tls_names.acme_ca_secret(cluster),
        tls_names.acme_issuer_secret(cluster) if cluster.spec.tls.mode == "ACME" else None,
    )
    yield from filter(None, references)
    yield from cluster.status.tls_secrets or ()


def _pull_secrets(cluster: OpenBaoCluster) -> Iterator[str]:
    """Only for a proof of images; to pull them is the kubelet's part."""
    spec = cluster.spec
    for policy in (spec.image_verification, spec.operator_image_verification):
        if policy is not None and policy.enabled:
            for secret in (*policy.image_pull_secrets, *spec.image_pull_secrets):
                yield secret.name
