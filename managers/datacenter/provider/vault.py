"""A vault of a datacenter: builds its OpenBaoCluster, and its connection data for services.

Pure. Uses contracts.tls_names for the CA that clients trust. Called by the other modules of
managers.datacenter.provider. It never passes a token or a key: a service logs in with a role
and its own ServiceAccount.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from contracts import tls_names
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.group import CLUSTERS
from contracts.api.meta import thaw
from contracts.api.violation import InvalidClusterError
from contracts.builders.pod_part import PodPart
from contracts.datacenter import names
from contracts.datacenter.workload_records import ServiceRecord, Vault
from contracts.naming.names import public_service, service_dns
from contracts.naming.ports import API
from runtime.apply.intent import Intent
from runtime.types import Object

ADDRESS: Final = "BAO_ADDR"
AUTHORITY: Final = "BAO_CACERT"
ROLES: Final = "BAO_ROLES"
AUTHORITY_DIRECTORY: Final = "/openbao/ca"
# User volumes cannot have such a name: theirs begin with a letter.
AUTHORITY_VOLUME: Final = "0-openbao-ca"

_ROLE: Final = re.compile(r"auth/(?P<mount>.+)/role/(?P<role>[^/]+)")


def cluster(record: ServiceRecord) -> Intent:
    """Build the OpenBaoCluster of a record of that kind, with the spec of the user.

    The redeploy token becomes spec.runtime.restartAt, unless the user sets it.
    """
    datacenter, service = record.datacenter, record.desired.service
    spec = thaw(service.openbao or {})
    if record.desired.redeploy and not _requests_restart(spec):
        spec["runtime"] = {**(spec.get("runtime") or {}), "restartAt": record.desired.redeploy}
    metadata = {
        "name": names.object_name(datacenter.name, service.name),
        "namespace": datacenter.namespace,
        "labels": names.object_labels(datacenter.name, service.name, dict(service.labels)),
        "annotations": {names.DESIRED_HASH: record.desired.digest},
    }
    body = {
        "apiVersion": CLUSTERS.api_version,
        "kind": CLUSTERS.kind,
        "metadata": metadata,
        "spec": spec,
    }
    return Intent(CLUSTERS, body, frozenset(_empty(spec)))


def vault_of(service: str, live: Object) -> Vault | None:
    """Return the public data of a live OpenBaoCluster; None if its spec is invalid."""
    try:
        read = OpenBaoCluster.from_object(live)
        public = public_service(read.metadata.name)
    except (InvalidClusterError, ValueError):
        return None
    host = service_dns(public, read.metadata.namespace)
    return Vault(
        service=service,
        address=f"https://{host}:{API.number}",
        ca_secret=tls_names.authority_secret(read) or "",
        roles=_roles(read),
    )


def pod_part(vaults: tuple[Vault, ...]) -> PodPart:
    """Return the variables and mounts of containers that depend on vaults, for the first vault.

    The CA is mounted as a directory and not as a file, so that running containers get updates.
    """
    if not vaults:
        return PodPart()
    first = vaults[0]
    env = [
        {"name": ADDRESS, "value": first.address},
        {"name": ROLES, "value": ",".join(first.roles)},
    ]
    if not first.ca_secret:
        return PodPart(env=tuple(env))
    file = tls_names.CA_FILE
    env.insert(1, {"name": AUTHORITY, "value": f"{AUTHORITY_DIRECTORY}/{file}"})
    # The Secret may have the private key of the CA.
    secret = {"secretName": first.ca_secret, "items": [{"key": file, "path": file}]}
    mount = {"name": AUTHORITY_VOLUME, "mountPath": AUTHORITY_DIRECTORY, "readOnly": True}
    return PodPart(
        env=tuple(env), mounts=(mount,), volumes=({"name": AUTHORITY_VOLUME, "secret": secret},)
    )


def facts(vaults: tuple[Vault, ...]) -> dict[str, str]:
    """Return the data of the ConfigMap with the connection data of all vaults."""
    data = {ADDRESS: vaults[0].address} if vaults else {}
    for vault in vaults:
        data[f"{vault.service}.address"] = vault.address
        data[names.ca_secret_key(vault.service)] = vault.ca_secret
        data[f"{vault.service}.roles"] = ",".join(vault.roles)
    return data


def parse_facts(data: Mapping[str, str]) -> tuple[Vault, ...]:
    """Parse the output of `facts`: the vaults passed before, sorted by service."""
    services = sorted(key.removesuffix(".address") for key in data if key.endswith(".address"))
    return tuple(
        Vault(
            service=service,
            address=data[f"{service}.address"],
            ca_secret=data.get(names.ca_secret_key(service), ""),
            roles=tuple(filter(None, data.get(f"{service}.roles", "").split(","))),
        )
        for service in services
    )


def merge_vaults(
    before: Mapping[str, str], current: tuple[Vault, ...], live: Mapping[str, Object]
) -> tuple[Vault, ...]:
    """Return the vaults to pass to a service, including one that is only temporarily not ready.

    Otherwise each restart of a vault would restart the pods of its dependents. `before` is the data
    that was passed last, in the format of `facts`. `live` are the current OpenBaoClusters by
    service; their data takes precedence.
    """
    vaults = {vault.service: vault for vault in parse_facts(before) if vault.service in live}
    vaults |= {vault.service: vault for vault in current}
    newest = {
        service: vault_of(service, live[service]) if service in live else None for service in vaults
    }
    return tuple(newest[service] or vaults[service] for service in sorted(vaults))


def _requests_restart(spec: Mapping[str, Any]) -> bool:
    blocks = (spec.get(name) for name in ("runtime", "maintenance"))
    return any(isinstance(block, Mapping) and block.get("restartAt") for block in blocks)


def _roles(read: OpenBaoCluster) -> tuple[str, ...]:
    requests = read.spec.self_init.requests if read.spec.self_init else ()
    matches = (_ROLE.fullmatch(request.path) for request in requests)
    return tuple(sorted({f"{role['mount']}/{role['role']}" for role in matches if role}))


def _empty(value: Any) -> Iterator[str]:
    """Yield the fields that a user set to an empty value, which have to be applied."""
    if isinstance(value, Mapping):
        for field, inner in value.items():
            if inner in ("", [], {}):
                yield field
            yield from _empty(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _empty(inner)
