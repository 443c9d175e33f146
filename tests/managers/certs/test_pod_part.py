"""managers.certs.pod_part: the mounts of a pod, by mode."""

from typing import Any

import pytest

from managers.certs.pod_part import tls_part
from tests import gen

DIRECTORY = {"directoryURL": "https://acme.example.com/dir"}


def mounts(**tls: Any) -> dict[str, str]:
    """Return the path of each mount, and its source."""
    resolved = gen.resolved(gen.cluster().with_spec(replicas=1, tls=tls)).tls
    part = tls_part(resolved)
    sources = {volume["name"]: volume for volume in part.volumes}
    return {mount["mountPath"]: _source(sources[mount["name"]]) for mount in part.mounts}


def _source(volume: Any) -> str:
    if "secret" in volume:
        return f"Secret {volume['secret']['secretName']}"
    return f"claim {volume['persistentVolumeClaim']['claimName']}"


REFS = {"serverSecretRef": {"name": "mine"}}
ROWS: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "a generated certificate": ({}, {"/etc/bao/tls": "Secret x-tls-server"}),
    "a certificate of the user": (
        {"mode": "External", "external": REFS},
        {"/etc/bao/tls": "Secret mine"},
    ),
    "a public ACME server": ({"mode": "ACME", "acme": DIRECTORY}, {}),
    "a private ACME server, and several servers": (
        {
            "mode": "ACME",
            "acme": {
                **DIRECTORY,
                "caSecretRef": {"name": "roots"},
                "sharedCache": {"mode": "ManagedPVC"},
            },
        },
        {"/etc/bao/acme-ca": "Secret roots", "/bao/acme-cache": "claim x-acme-cache"},
    ),
    "a PVC of the user": (
        {
            "mode": "ACME",
            "acme": {
                **DIRECTORY,
                "sharedCache": {"mode": "ExistingPVC", "existingClaimName": "shared"},
            },
        },
        {"/bao/acme-cache": "claim shared"},
    ),
}


@pytest.mark.parametrize(("tls", "expected"), ROWS.values(), ids=ROWS.keys())
def test_mounts(tls: dict[str, Any], expected: dict[str, str]) -> None:
    assert mounts(**tls) == expected


def test_only_the_cache_is_writable() -> None:
    settings = {**DIRECTORY, "sharedCache": {"mode": "ManagedPVC"}, "caSecretRef": {"name": "r"}}
    part = tls_part(
        gen.resolved(gen.cluster().with_spec(tls={"mode": "ACME", "acme": settings})).tls
    )
    writable = [mount["name"] for mount in part.mounts if not mount.get("readOnly")]
    assert writable == ["acme-cache"]
