"""Resolves spec.unseal, once per reconcile.

Pure. Called by managers.cluster.resolve.resolve.
"""

from __future__ import annotations

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.hcl.seals import SealStanza, seal_stanza, static_stanza
from contracts.records.observed import Observed
from contracts.records.resolved import SealSettings
from managers.bootstrap.seal.keys import secret_of
from managers.bootstrap.seal.pod_part import with_mounted_authority
from managers.bootstrap.seal.rotation import rotation


def seal_settings(cluster: OpenBaoCluster, observed: Observed) -> SealSettings:
    """Return the seal settings of the servers from `spec.unseal` and the observed record."""
    unseal, name = cluster.spec.unseal, cluster.metadata.name
    supplied = unseal.secret_name
    if unseal.type != "static":
        secret = observed.secrets.get(supplied) if supplied else None
        secrets = () if supplied is None else (supplied,)
        return SealSettings(with_mounted_authority(unseal, secret), secrets, None)
    status_keys = cluster.status.unseal.keys if cluster.status.unseal else ""
    keys = rotation(name, unseal, observed, status_keys, initialized=cluster.status.initialized)
    secret_names = dict.fromkeys(secret_of(name, key, supplied) for key in keys.ring.keys)
    return SealSettings(unseal, tuple(secret_names), keys)


def stanza_of(settings: SealSettings) -> SealStanza:
    """Return the seal stanza of config.hcl."""
    return seal_stanza(settings.spec) if settings.ring is None else static_stanza(settings.ring)
