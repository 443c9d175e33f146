"""The part of the server pod for the seal: volumes and variables that reference a Secret by name.

Pure. Called by managers.cluster.resolve.resolve. This module never reads the value of a Secret: the
kubelet mounts it for the server.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contracts.api.cluster.seal import Unseal
from contracts.api.cluster.seal_hsm import Pkcs11Runtime
from contracts.builders.pod_part import PodPart
from contracts.naming import mount_paths, names
from contracts.records.secrets import SecretFacts
from contracts.unseal_keys import KeyRing, generated_file

SECRET_MODE = 0o440
KEYS_VOLUME = "unseal"
CREDENTIALS_VOLUME = "seal-creds"
TOKEN = "token"  # noqa: S105  a key of the Secret
# Only the seal reads this variable. A server that joins would also send VAULT_TOKEN to the others.
TOKEN_VARIABLE = "VAULT_TRANSIT_SEAL_TOKEN"  # noqa: S105  the name of a variable
AUTHORITY = "ca.crt"
GOOGLE_FILE = "credentials.json"
PIN = "BAO_HSM_PIN"

# Variables that a seal reads; each is set if the Secret has a key with its name.
VARIABLES: Mapping[str, tuple[str, ...]] = {
    "awskms": ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
    "azurekeyvault": (
        "AZURE_TENANT_ID",
        "AZURE_CLIENT_ID",
        "AZURE_CLIENT_SECRET",
        "AZURE_ENVIRONMENT",
        "AZURE_AD_RESOURCE",
    ),
    "pkcs11": (PIN,),
}


def seal_part(cluster: str, unseal: Unseal, ring: KeyRing | None) -> PodPart:
    """Return the volumes, mounts and variables of the seal; `ring` is set for a static seal."""
    if ring is not None:
        return _keys(cluster, unseal.secret_name, ring)
    secret = unseal.secret_name
    runtime = unseal.pkcs11.runtime if unseal.pkcs11 and unseal.type == "pkcs11" else None
    env = tuple(_variables(unseal, secret)) + tuple(_runtime(runtime, secret))
    if secret is None:
        return PodPart(env=env)
    source = {"secretName": secret, "defaultMode": SECRET_MODE}
    return PodPart(
        env=env,
        mounts=(_mount(CREDENTIALS_VOLUME, mount_paths.SEAL_CREDENTIALS),),
        volumes=({"name": CREDENTIALS_VOLUME, "secret": source},),
    )


def with_mounted_authority(unseal: Unseal, secret: SecretFacts | None) -> Unseal:
    """Return the seal with the CA of its Secret, unless the spec names another one."""
    transit = unseal.transit
    if unseal.type != "transit" or transit is None or transit.tls_ca_cert is not None:
        return unseal
    if secret is None or AUTHORITY not in secret.keys:
        return unseal
    with_ca = transit.model_copy(
        update={"tls_ca_cert": f"{mount_paths.SEAL_CREDENTIALS}/{AUTHORITY}"}
    )
    return unseal.model_copy(update={"transit": with_ca})


def _keys(cluster: str, supplied: str | None, ring: KeyRing) -> PodPart:
    sources = [{"name": supplied}] if supplied else list(_generated(cluster, ring))
    projected = {"defaultMode": SECRET_MODE, "sources": [{"secret": source} for source in sources]}
    return PodPart(
        mounts=(_mount(KEYS_VOLUME, mount_paths.UNSEAL),),
        volumes=({"name": KEYS_VOLUME, "projected": projected},),
    )


def _generated(cluster: str, ring: KeyRing) -> list[dict[str, Any]]:
    """Return the sources of the volume: the Secrets of the keys, and that of the next key.

    The Secret of the next key is mounted before it exists. When a rotation starts, config.hcl
    changes in running pods, and a server that then restarts requires the file that it names.
    """
    optional_by_generation = {key.generation: False for key in ring.keys}
    if ring.other is None:
        optional_by_generation[ring.current.generation + 1] = True
    return [
        {
            "name": names.unseal_key_secret(cluster, generation),
            "items": [{"key": generated_file(1), "path": generated_file(generation)}],
            **({"optional": True} if optional else {}),
        }
        for generation, optional in sorted(optional_by_generation.items())
    ]


def _mount(volume: str, path: str) -> dict[str, Any]:
    return {"name": volume, "mountPath": path, "readOnly": True}


def _variables(unseal: Unseal, secret: str | None) -> list[dict[str, Any]]:
    if secret is None:
        return []
    if unseal.type == "gcpckms":
        # This variable would override a path in the spec, which is in config.hcl.
        in_spec = unseal.gcp_cloud_kms is not None and unseal.gcp_cloud_kms.credentials
        path = f"{mount_paths.SEAL_CREDENTIALS}/{GOOGLE_FILE}"
        return [] if in_spec else [{"name": "GOOGLE_APPLICATION_CREDENTIALS", "value": path}]
    if unseal.type == "transit":
        inline = unseal.transit is not None and unseal.transit.token
        return [] if inline else [_from(secret, TOKEN_VARIABLE, TOKEN)]
    return [_from(secret, name, name, optional=True) for name in VARIABLES.get(unseal.type, ())]


def _runtime(runtime: Pkcs11Runtime | None, secret: str | None) -> list[dict[str, Any]]:
    if runtime is None:
        return []
    env = []
    if runtime.library_path is not None:
        env.append({"name": "LD_LIBRARY_PATH", "value": runtime.library_path})
    if secret is None:
        return env
    env += [_from(secret, variable.name, variable.secret_key) for variable in runtime.env]
    env += [
        {"name": variable.name, "value": f"{mount_paths.SEAL_CREDENTIALS}/{variable.secret_key}"}
        for variable in runtime.file_env
    ]
    return env


def _from(secret: str, name: str, key: str, *, optional: bool = False) -> dict[str, Any]:
    source: dict[str, Any] = {"name": secret, "key": key}
    if optional:
        source["optional"] = True
    return {"name": name, "valueFrom": {"secretKeyRef": source}}
