"""Resolves spec.tls: the names, the Secrets and the volumes of the pod. Pure.

Called by `managers.cluster.resolve.resolve`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contracts import tls_names
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.tls import CacheVolume
from contracts.api.values.duration import parse_duration
from contracts.builders.pod_part import PodPart
from contracts.naming import mount_paths, names
from contracts.records.resolved import AcmeVolume, TlsSettings

DEFAULT_CACHE_SIZE = "1Gi"
SECRET_MODE = 0o440
TLS_VOLUME = "tls"


def tls_settings(cluster: OpenBaoCluster) -> TlsSettings:
    """Resolve the TLS settings, once per reconcile."""
    tls = cluster.spec.tls
    acme = tls.acme if tls.mode == "ACME" else None
    return TlsSettings(
        mode=tls.mode,
        server_name=tls_names.server_name(cluster),
        server_secret=tls_names.server_secret(cluster),
        authority_secret=tls_names.authority_secret(cluster),
        ca_request=tls.rotate_ca_at or "",
        ca_overlap=parse_duration(tls.ca_overlap),
        acme_ca_secret=tls_names.acme_ca_secret(cluster),
        issuer_secret=tls_names.acme_issuer_secret(cluster) if acme else None,
        acme_volume=_volume(cluster.metadata.name, acme.shared_cache) if acme else None,
    )


def _volume(cluster: str, cache: CacheVolume | None) -> AcmeVolume | None:
    if cache is None:
        return None
    if cache.mode == "ExistingPVC":
        return AcmeVolume(cache.existing_claim_name or "", managed=False)
    return AcmeVolume(
        names.acme_cache_claim(cluster),
        managed=True,
        size=cache.size or DEFAULT_CACHE_SIZE,
        storage_class=cache.storage_class_name,
    )


def tls_part(settings: TlsSettings) -> PodPart:
    """Mount the Secret with the server certificate, or the files of the ACME client."""
    mounts: list[Mapping[str, Any]] = []
    volumes: list[Mapping[str, Any]] = []

    def mount(name: str, path: str, source: Mapping[str, Any], *, read_only: bool = True) -> None:
        volume_mount: dict[str, Any] = {"name": name, "mountPath": path}
        mounts.append({**volume_mount, "readOnly": True} if read_only else volume_mount)
        volumes.append({"name": name, **source})

    if settings.server_secret is not None:
        mount(TLS_VOLUME, mount_paths.TLS, _secret(settings.server_secret))
    if settings.acme_ca_secret is not None:
        mount("acme-ca", mount_paths.ACME_CA, _secret(settings.acme_ca_secret))
    if settings.acme_volume is not None:
        claim = {"persistentVolumeClaim": {"claimName": settings.acme_volume.claim}}
        mount("acme-cache", mount_paths.ACME_CACHE, claim, read_only=False)
    return PodPart(mounts=tuple(mounts), volumes=tuple(volumes))


def _secret(name: str) -> Mapping[str, Any]:
    return {"secret": {"secretName": name, "defaultMode": SECRET_MODE}}
