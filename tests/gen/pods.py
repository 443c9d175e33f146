"""Server pods in each state, as the API server returns them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from contracts.naming import labels, names
from contracts.pools.voter_pool import ServerPool
from contracts.records.observed import PodFacts
from managers.cluster.observe.from_objects import server_facts
from managers.workload.objects.pod import CONTAINER
from runtime.types import Object
from tests.gen.clusters import NAMESPACE, VERSION
from tests.gen.secrets import NOW


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod of the StatefulSet of a cluster."""

    ordinal: int
    cluster: str = "x"
    uid: str = ""
    template: str = "now"
    files: str = "files"
    is_ready: bool = False
    server: Mapping[str, Any] = field(default_factory=dict)
    server_labels: Mapping[str, str] = field(default_factory=dict)
    conditions: tuple[Mapping[str, str], ...] = ()
    deleted: str = ""
    serves: str | None = None
    ephemeral: tuple[tuple[str, int | None, int], ...] = ()
    keys: str = ""
    rewrap_key: str = ""
    gates: tuple[str, ...] = ()
    maintenance: bool = False
    restore: str = ""
    account: str = ""
    node: str = ""
    image: str = ""
    age: timedelta | None = None
    reader: bool = False
    """It is a read replica: a pod of the other StatefulSet."""
    revision: str = ""
    """The revision of the server pool; "" for the pool without one."""

    def of(self, revision: str) -> Pod:
        """Make it a voter of the pool of that revision."""
        return replace(self, revision=revision)

    def ready(self, *, leading: bool = False, version: str = VERSION) -> Pod:
        """Make it ready, with the labels of a server."""
        return replace(self, is_ready=True).with_server_labels(
            active=str(leading).lower(), initialized="true", sealed="false", version=version
        )

    def unready(self) -> Pod:
        """Make it unready; its labels remain, as those of a killed server."""
        return replace(self, is_ready=False)

    def with_server_labels(self, **words: str) -> Pod:
        """Set labels that the server writes, by their last word: active, sealed, version ..."""
        written = {f"openbao-{word}": text for word, text in words.items()}
        return replace(self, server_labels={**self.server_labels, **written})

    def with_template(self, template: str) -> Pod:
        """Set the digest of its template."""
        return replace(self, template=template)

    def since_restore(self, uid: str) -> Pod:
        """Set the restore after which it was created."""
        return replace(self, restore=uid)

    def born(self, ago: timedelta) -> Pod:
        """Set its age."""
        return replace(self, age=ago)

    def with_files(self, files: str) -> Pod:
        """Set the digest of the files that the server read at its start."""
        return replace(self, files=files)

    def reloading(self, digest: str, exit_code: int | None = None, *, asked: int = 0) -> Pod:
        """Add an attempt to reload: in progress, or ended with that exit code."""
        name = f"reload-{len(self.ephemeral) + 1}-{digest[:8]}"
        return replace(self, ephemeral=(*self.ephemeral, (name, exit_code, asked)))

    def with_restarts(
        self, times: int = 1, *, code: int = 1, reason: str = "Error", message: str = ""
    ) -> Pod:
        """Add restarts of the server, and the end of its log."""
        ended = {"terminated": {"exitCode": code, "reason": reason, "message": message}}
        return replace(self, server={**self.server, "restartCount": times, "lastState": ended})

    def waiting(self, reason: str, message: str = "") -> Pod:
        """Make the container wait, with that reason."""
        state = {"waiting": {"reason": reason, **({"message": message} if message else {})}}
        return replace(self, server={**self.server, "state": state})

    def unschedulable(self, message: str) -> Pod:
        """Make it unschedulable."""
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
        return replace(self, conditions=({**condition, "message": message},), server={})

    def serving(self, fingerprint: str) -> Pod:
        """Set the observed certificate; "" if the server did not respond."""
        return replace(self, serves=fingerprint)

    def under(self, account: str) -> Pod:
        """Set its ServiceAccount."""
        return replace(self, account=account)

    def on(self, node: str) -> Pod:
        """Set its node."""
        return replace(self, node=node)

    def with_gates(self, *gates: str) -> Pod:
        """Add the scheduling gate of a fence, or these gates."""
        held = replace(self, gates=gates or (labels.FENCE_GATE,), is_ready=False, server_labels={})
        return held.unschedulable("has a scheduling gate")

    def running(self, image: str) -> Pod:
        """Set the image of the server."""
        return replace(self, image=image)

    def in_maintenance(self) -> Pod:
        """Add the annotation of maintenance."""
        return replace(self, maintenance=True)

    def terminating(self) -> Pod:
        """Make it terminating."""
        return replace(self, deleted="2030-01-01T00:00:00Z")

    def object(self) -> Object:
        """The object as the API server returns it."""
        voters = ServerPool(self.cluster, self.revision)
        name, marks = voters.pod(self.ordinal), voters.pod_labels
        if self.reader:
            name, marks = names.read_pod(self.cluster, self.ordinal), labels.read_pod(self.cluster)
        metadata: Object = {
            "name": name,
            "namespace": NAMESPACE,
            "uid": self.uid or f"uid-{name}",
            "resourceVersion": "1",
            "labels": {**marks, **self.server_labels},
            "annotations": self._annotations(),
        }
        if self.age is not None:
            metadata["creationTimestamp"] = (NOW - self.age).isoformat()
        if self.deleted:
            metadata["deletionTimestamp"] = self.deleted
        ready = {"type": "Ready", "status": "True" if self.is_ready else "False"}
        status: Object = {"conditions": [*self.conditions, ready]}
        if not self.conditions:
            status["podIP"] = f"10.0.{int(self.reader)}.{self.ordinal + 1}"
            status["containerStatuses"] = [{"name": CONTAINER, "restartCount": 0, **self.server}]
        server: Object = {"name": CONTAINER}
        if self.image:
            server["image"] = self.image
        spec: Object = {"containers": [server]}
        if self.gates:
            spec["schedulingGates"] = [{"name": gate} for gate in self.gates]
        if self.node:
            spec["nodeName"] = self.node
        if self.account:
            spec["serviceAccountName"] = self.account
        if self.ephemeral:
            spec["ephemeralContainers"] = [
                {"name": name, "args": ["--asked", str(requests)]}
                for name, _, requests in self.ephemeral
            ]
            status["ephemeralContainerStatuses"] = [
                {"name": name, "state": {"terminated": {"exitCode": code}}}
                for name, code, _ in self.ephemeral
                if code is not None
            ]
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata,
            "spec": spec,
            "status": status,
        }

    def with_keys(self, keys: str, rewrap_key: str = "") -> Pod:
        """Set the keys of the static seal that the server has, and the one that it uses."""
        return replace(self, keys=keys, rewrap_key=rewrap_key)

    def _annotations(self) -> dict[str, str]:
        annotations = {
            labels.TEMPLATE_HASH: self.template,
            labels.RELOAD_HASH: self.files,
            labels.UNSEAL_KEYS: self.keys,
            labels.UNSEAL_REWRAPPED: self.rewrap_key,
            labels.MAINTENANCE: "true" if self.maintenance else "",
            labels.RESTORE_REVISION: self.restore,
        }
        return {key: value for key, value in annotations.items() if value}

    def facts(self) -> PodFacts:
        """The pod as plans receive it."""
        (facts,) = server_facts((ServerPool(self.cluster, self.revision),), [self.object()])
        return facts


def pod(ordinal: int = 0, cluster: str = "x") -> Pod:
    """A pod that was just started, from the template "now"."""
    return Pod(ordinal, cluster)


def read_pod(ordinal: int = 0, cluster: str = "x") -> Pod:
    """A read replica that was just started, from the template "now"."""
    return Pod(ordinal, cluster, reader=True)
