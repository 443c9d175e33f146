"""The names of the objects in the namespace of a tenant, and the Secrets that a cluster needs.

Uses contracts.tls_names and the API model. Called by the provisioner, which grants the access, and
by the controller, which waits for the grant: both call the same function for the same object, so
that a right exists before it is used. Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
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
"""On Roles and bindings. Without it the Roles of a deleted namespace would be deleted first, no
controller would have the right to finalize its clusters, and the namespace would never be
removed."""

DIGEST = 16
# Number of granted unseal keys after the newest one in the status: the next key, the key after it,
# which a deletion reads, and one more for a status that is one write behind.
KEYS_AHEAD = 3
# A limit, because a user may write any number into the status.
KEYS_MAX = 512


@dataclass(frozen=True, slots=True)
class SecretAccess:
    """The Secrets of one cluster by name: those that are only read, and those that are written.

    Write access includes read access, so no name is in both.
    """

    readers: frozenset[str]
    writers: frozenset[str]

    @property
    def digest(self) -> str:
        """Hash of exactly this access. It contains nothing secret."""
        lines = (
            *(f"read {name}\n" for name in sorted(self.readers)),
            *(f"write {name}\n" for name in sorted(self.writers)),
        )
        return hashlib.sha256("".join(lines).encode()).hexdigest()[:DIGEST]

    def allows(self, name: str) -> bool:
        """Return whether the Secret may be read."""
        return name in self.readers or name in self.writers


def access_of(live: Object) -> SecretAccess:
    """Return the access of a cluster, from its object at the API server.

    A cluster with an unreadable spec can still be deleted, and then keeps its keys. So it gets
    access to the Secrets that only the operator creates, and to none that a spec can name.
    """
    try:
        return secret_access(OpenBaoCluster.from_object(live))
    except InvalidClusterError:
        name = key_of(live).name
        if not names.is_cluster_name(name):
            return SecretAccess(frozenset(), frozenset())
        return SecretAccess(frozenset(), frozenset(_own_keys(name, _ring_of(live))))


def secret_access(cluster: OpenBaoCluster) -> SecretAccess:
    """Return every Secret that the operator reads or writes for a cluster, by its spec and status.

    Not those that only pods mount: the kubelet reads them with its own rights.
    """
    name = cluster.metadata.name
    if not names.is_cluster_name(name):
        return SecretAccess(frozenset(), frozenset())
    writers = frozenset(_written_secrets(cluster))
    # Servers use it until they are replaced, also after a change of the spec.
    readers = {names.tls_server_secret(name), *_certificates(cluster), *_pull_secrets(cluster)}
    if cluster.spec.unseal.secret_name is not None:
        readers.add(cluster.spec.unseal.secret_name)
    return SecretAccess(frozenset(readers) - writers, writers)


def kept_secrets(cluster: OpenBaoCluster | None, name: str) -> tuple[str, ...]:
    """Return the Secrets that deletionPolicy Retain keeps, whether they exist or not.

    `cluster` is None if its spec cannot be read.
    """
    return tuple(_own_keys(name, "")) if cluster is None else _retained_secrets(cluster)


def _ring_of(live: Object) -> str:
    """Read the keys of the static seal from an untrusted status."""
    status = live.get("status")
    unseal = status.get("unseal") if isinstance(status, dict) else None
    keys = unseal.get("keys") if isinstance(unseal, dict) else None
    return keys if isinstance(keys, str) else ""


def _written_secrets(cluster: OpenBaoCluster) -> tuple[str, ...]:
    name = cluster.metadata.name
    if cluster.spec.tls.mode != "OperatorManaged":
        return _retained_secrets(cluster)
    return (
        names.tls_ca_secret(name),
        names.tls_server_secret(name),
        *_retained_secrets(cluster),
    )


def _retained_secrets(cluster: OpenBaoCluster) -> tuple[str, ...]:
    spec, status, name = cluster.spec, cluster.status, cluster.metadata.name
    secrets: list[str] = []
    if spec.unseal.type == "static" and spec.unseal.secret_name is None:
        secrets += _unseal_keys(name, status.unseal.keys if status.unseal else "")
    # A user may enable selfInit later: the token of the first boot still exists.
    if not spec.self_initializes or (status.initialized and not status.self_initialized):
        secrets.append(names.root_token_secret(name))
    # The shares are encrypted for users; they may exist although the spec no longer requests them.
    return (*secrets, names.recovery_shares_secret(name))


def _own_keys(name: str, ring: str) -> Iterable[str]:
    return (
        *_unseal_keys(name, ring),
        names.root_token_secret(name),
        names.recovery_shares_secret(name),
    )


def _unseal_keys(name: str, ring: str) -> tuple[str, ...]:
    key_ring = KeyRing.parse(ring)
    # The first key is granted before a status names it, so that this status changes no grant.
    # Without a status the operator needs access to every key that may exist, to find the key that
    # decrypts the data.
    newest = key_ring.newest if key_ring else 1
    last = min(max(newest + KEYS_AHEAD, KEYS_SOUGHT), KEYS_MAX)
    return names.unseal_key_secrets(name, last)


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
    """Yield the pull secrets for image verification; the kubelet reads those for the pulls."""
    spec = cluster.spec
    for policy in (spec.image_verification, spec.operator_image_verification):
        if policy is not None and policy.enabled:
            for secret in (*policy.image_pull_secrets, *spec.image_pull_secrets):
                yield secret.name
