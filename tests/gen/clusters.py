"""OpenBaoClusters as written by a user, and as they are later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from contracts.api.cluster.spec import OpenBaoCluster
from managers.cluster.owner import owner_of
from runtime.apply.ownership import Owner
from runtime.types import Object

NAMESPACE = "ns"
VERSION = "2.4.0"
REQUEST: Mapping[str, Any] = {
    "name": "enable_kv",
    "operation": "update",
    "path": "sys/mounts/secret",
    "secretEngine": {"type": "kv"},
}


@dataclass(frozen=True, slots=True)
class Cluster:
    """A manifest, with the metadata that the API server adds."""

    name: str
    spec: Mapping[str, Any]
    status: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def with_spec(self, **fields: Any) -> Cluster:
        """Replace or add top-level fields of the spec, by their names in YAML; None removes."""
        spec = {**self.spec, **fields}
        return replace(self, spec={k: v for k, v in spec.items() if v is not None})

    def self_init(self, *requests: Mapping[str, Any], login: bool = False) -> Cluster:
        """Add self-init; `login` also requests the login of the operator."""
        wish: dict[str, Any] = {"enabled": True, "requests": list(requests or (REQUEST,))}
        if login:
            wish["oidc"] = {"enabled": True}
        return self.with_spec(selfInit=wish)

    def with_status(self, **fields: Any) -> Cluster:
        """Replace or add fields of the status, by their names in YAML."""
        return replace(self, status={**self.status, **fields})

    def initialized(self, version: str = VERSION) -> Cluster:
        """Mark it as initialized."""
        return self.with_status(initialized=True, phase="Running", currentVersion=version)

    def with_login(self, **login: Any) -> Cluster:
        """Add a login that the operator has set up, by default without roles of Jobs."""
        login_status = {"rootTokenSecret": "uid-secret/1", **login}
        return self.with_status(
            adminOps={**self.status.get("adminOps", {}), "operatorLogin": login_status}
        )

    def with_metadata(self, **metadata: Any) -> Cluster:
        """Replace or add metadata, by their names in YAML."""
        return replace(self, metadata={**self.metadata, **metadata})

    def object(self) -> Object:
        """The object as the API server shows it."""
        return {
            "apiVersion": "openbao.org/v1alpha1",
            "kind": "OpenBaoCluster",
            "metadata": {
                "name": self.name,
                "namespace": NAMESPACE,
                "uid": f"uid-{self.name}",
                "generation": 1,
                "resourceVersion": "1",
                **self.metadata,
            },
            "spec": dict(self.spec),
            **({"status": dict(self.status)} if self.status else {}),
        }

    def read(self) -> OpenBaoCluster:
        """The object as the operator reads it."""
        return OpenBaoCluster.from_object(self.object())

    def owner(self) -> Owner:
        """The owner of its children."""
        return owner_of(self.object())


def cluster(name: str = "x", **spec: Any) -> Cluster:
    """The smallest valid cluster, of three servers; `spec` as in `Cluster.wanting`."""
    return Cluster(name, {"version": VERSION, "storage": {"size": "1Gi"}}).with_spec(**spec)
