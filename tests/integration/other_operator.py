"""Live objects of another operator on a real API server, from tests/golden/other-operator.

Neither a kubelet nor a controller runs here: `OtherOperator.install` writes the status of pods that
are Ready. Used by tests/integration/test_adoption.py.
"""

from __future__ import annotations

import base64
import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from baoctl.generate.main import ROOT
from contracts.api.group import API_VERSION, CLUSTER_KIND, CLUSTERS
from contracts.owned_kinds import OWNED
from managers.certs.key_pair import KeyPair
from managers.certs.x509 import issue_server, make_authority
from runtime.apply.ownership import Owner
from runtime.builtin_kinds import POD, PVC, SECRET, STATEFUL_SET
from runtime.client.client import Client
from runtime.clock import SystemClock
from runtime.types import Object, ObjectKey, Resource, key_of, uid_of

FOLDER = ROOT / "tests" / "golden" / "other-operator"
KINDS: Mapping[str, Resource] = {kind.kind: kind for kind in OWNED}
EVERY_KIND = (*OWNED, POD, PVC, SECRET)
MANAGER = "openbao-operator"
"""The field manager of the public Go operator, and of this operator."""
NAME = "vault"
_STATUS: Mapping[str, Object] = yaml.safe_load((FOLDER / "status.yaml").read_text("utf-8"))
NO_UID = "00000000-0000-0000-0000-000000000000"
"""The placeholder for the UID of the cluster in the golden objects."""
Found = dict[tuple[str, str], tuple[str, str]]


@dataclass
class OtherOperator:
    """What another operator, or an older release, left in one namespace."""

    client: Client
    namespace: str
    cluster: Object = field(default_factory=dict)
    name: str = NAME
    version: str = "2.7.2"
    files: tuple[Path, Path] = (FOLDER / "cluster.cr.yaml", FOLDER / "objects.yaml")
    """The cluster, and its objects."""
    managers: Mapping[str, Object] = field(default_factory=lambda: _STATUS)
    """The parts of the status, by field manager."""

    async def install(
        self, *, set_changes: Mapping[str, Any] | None = None, without: tuple[str, ...] = ()
    ) -> None:
        """Create all objects; `set_changes` replaces fields of the spec of the StatefulSet.

        The pods do not have the labels of `without`.
        """
        body = yaml.safe_load(self.files[0].read_text(encoding="utf-8"))
        body["metadata"] |= {
            "namespace": self.namespace,
            "finalizers": ["openbao.org/openbaocluster-finalizer"],
        }
        self.cluster = await self.client.create(CLUSTERS, body, field_manager="kubectl")
        await self._secrets()
        text = self.files[1].read_text(encoding="utf-8")
        text = text.replace("NAMESPACE", self.namespace).replace(NO_UID, uid_of(self.cluster))
        for document in yaml.safe_load_all(text):
            if document["kind"] == "StatefulSet":
                document["spec"] |= set_changes or {}
                document["spec"]["template"]["metadata"]["labels"] |= document["spec"]["selector"][
                    "matchLabels"
                ]
            await self._apply(KINDS[document["kind"]], document)
        await self.pods(without)
        await self._status()

    async def _apply(self, kind: Resource, body: Object) -> Object:
        body["metadata"] |= {"namespace": self.namespace, "ownerReferences": [self.reference]}
        response = await self.client.apply(kind, body, field_manager=MANAGER, force=True)
        return response.object

    @property
    def reference(self) -> Object:
        """The owner reference of its objects."""
        uid = uid_of(self.cluster)
        return Owner(API_VERSION, CLUSTER_KIND, self.namespace, self.name, uid).reference()

    async def _secrets(self) -> None:
        now = SystemClock().now()
        authority = make_authority(self.name, now)
        names = (
            f"openbao-cluster-{self.name}.local",
            "localhost",
            *(f"{self.name}{part}.{self.namespace}.svc" for part in ("", "-public")),
            f"*.{self.name}.{self.namespace}.svc",
        )
        server = issue_server(authority, names, ("127.0.0.1",), now)
        await self._secret("tls-ca", _pair(authority, "ca.crt", "ca.key"))
        await self._secret(
            "tls-server",
            {**_pair(server, "tls.crt", "tls.key"), "ca.crt": authority.certificate},
            "kubernetes.io/tls",
        )
        await self._secret("unseal-key", {"key": b"k" * 32})

    async def _secret(self, suffix: str, data: Mapping[str, bytes], kind: str = "Opaque") -> None:
        body: Object = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": f"{self.name}-{suffix}",
                "namespace": self.namespace,
                "labels": {"app.kubernetes.io/managed-by": "openbao-operator"},
                "ownerReferences": [self.reference],
            },
            "type": kind,
            "data": {name: base64.b64encode(value).decode() for name, value in data.items()},
        }
        await self.client.create(SECRET, body, field_manager=MANAGER)

    async def pods(self, without: tuple[str, ...] = ()) -> None:
        """Create the pods and volumes of the StatefulSet as its controller does, and make them
        Ready."""
        key = ObjectKey(self.namespace, self.name)
        live = await self.client.get(STATEFUL_SET, key)
        template = live["spec"]["template"]
        for number in range(live["spec"]["replicas"]):
            await self._claim(live, number)
            pod = {"apiVersion": "v1", "kind": "Pod", **copy.deepcopy(template)}
            pod["metadata"] |= {
                "name": f"{self.name}-{number}",
                "namespace": self.namespace,
                "ownerReferences": [_controller(live)],
            }
            claim = {"persistentVolumeClaim": {"claimName": f"data-{self.name}-{number}"}}
            pod["spec"]["volumes"].append({"name": "data", **claim})
            status_labels = {
                "active": str(number == 0).lower(),
                "initialized": "true",
                "sealed": "false",
            }
            pod["metadata"]["labels"] |= {
                f"openbao-{word}": text for word, text in status_labels.items()
            }
            pod["metadata"]["labels"] |= {"openbao-version": self.version}
            for label in without:
                del pod["metadata"]["labels"][label]
            await self.client.create(POD, pod, field_manager="kube-controller-manager")
            await self._ready(f"{self.name}-{number}")
        await self._patch_status(
            STATEFUL_SET,
            key,
            {
                "observedGeneration": live["metadata"]["generation"],
                "replicas": 3,
                "readyReplicas": 3,
                "currentRevision": "one",
                "updateRevision": "one",
            },
        )

    async def _claim(self, live: Object, number: int) -> None:
        template = live["spec"]["volumeClaimTemplates"][0]
        body = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": template["spec"]}
        metadata = {
            "name": f"data-{self.name}-{number}",
            "namespace": self.namespace,
            "labels": template["metadata"].get("labels", {}),
        }
        await self.client.create(
            PVC, {**body, "metadata": metadata}, field_manager="kube-controller-manager"
        )

    async def _ready(self, pod: str) -> None:
        status = {
            "phase": "Running",
            "podIP": "127.0.0.1",
            "conditions": [{"type": "Ready", "status": "True"}],
        }
        await self._patch_status(POD, ObjectKey(self.namespace, pod), status)

    async def _patch_status(self, kind: Resource, key: ObjectKey, status: Object) -> None:
        ops = [{"op": "add", "path": f"/status/{name}", "value": v} for name, v in status.items()]
        await self.client.json_patch(kind, key, ops, subresource="status")

    async def _status(self) -> None:
        """Apply the parts of the status with the field managers of its three controllers."""
        for manager, status in self.managers.items():
            body = {
                "apiVersion": API_VERSION,
                "kind": CLUSTER_KIND,
                "metadata": {"name": self.name, "namespace": self.namespace},
                "status": status,
            }
            await self.client.apply(
                CLUSTERS, body, field_manager=manager, force=False, subresource="status"
            )

    async def versions(self) -> Found:
        """UID and resourceVersion of each object in the namespace, by kind and name."""
        objects: Found = {}
        for kind in EVERY_KIND:
            for item in (await self.client.list(kind, self.namespace)).items:
                metadata = item["metadata"]
                objects[kind.kind, metadata["name"]] = metadata["uid"], metadata["resourceVersion"]
        return objects

    async def orphan(self) -> None:
        """Do the work of the garbage collector for a StatefulSet that is deleted as an orphan."""
        for item in (await self.client.list(POD, self.namespace)).items:
            remove = [{"op": "remove", "path": "/metadata/ownerReferences"}]
            if item["metadata"].get("ownerReferences"):
                await self.client.json_patch(POD, key_of(item), remove)
        remove = [{"op": "remove", "path": "/metadata/finalizers"}]
        await self.client.json_patch(STATEFUL_SET, ObjectKey(self.namespace, self.name), remove)


def _pair(pair: KeyPair, certificate: str, key: str) -> dict[str, bytes]:
    return {certificate: pair.certificate, key: pair.key}


def _controller(live: Object) -> Object:
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "name": key_of(live).name,
        "uid": uid_of(live),
        "controller": True,
        "blockOwnerDeletion": True,
    }
