"""The StatefulSet of a cluster, as the API server returns it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from contracts.naming import labels, mount_paths, names
from contracts.pools.voter_pool import ServerPool
from contracts.records.observed import StatefulSetFacts
from managers.cluster.observe.from_objects import stateful_set_facts
from managers.workload.objects.pod import CONTAINER, INIT_VOLUME
from runtime.types import Object
from tests.gen.clusters import NAMESPACE, cluster


@dataclass(frozen=True, slots=True)
class StatefulSet:
    """A StatefulSet that its controller has reconciled."""

    cluster: str = "x"
    replicas: int = 3
    template: str = "now"
    files: str = "files"
    carries_first_boot: bool = False
    claim_size: str = "1Gi"
    claim_class: str | None = None
    generation: int = 4
    observed_generation: int = 4
    deleted: str = ""
    service: str = ""
    """Name of the governing Service; "" for the usual one."""
    keys: str = ""
    gates: tuple[str, ...] = ()
    account: str = ""
    reader: bool = False
    """Whether it is that of the read replicas."""
    revision: str = ""
    """The revision of the server pool; "" for the pool without one."""
    created: int | None = None
    """Number of pods that its controller has created; None: not stated."""
    foreign: bool = False
    """Whether another operator created it."""

    def of(self, revision: str) -> StatefulSet:
        """Make it the StatefulSet of the pool of that revision."""
        return replace(self, revision=revision)

    def under(self, account: str) -> StatefulSet:
        """Set the ServiceAccount of its pods."""
        return replace(self, account=account)

    def with_keys(self, keys: str) -> StatefulSet:
        """Set the keys of the static seal in its template."""
        return replace(self, keys=keys)

    def first_boot(self) -> StatefulSet:
        """Set the template of the first boot, with one replica."""
        return replace(self, carries_first_boot=True, replicas=1)

    def with_replicas(self, replicas: int) -> StatefulSet:
        """Set its replicas."""
        return replace(self, replicas=replicas)

    def with_created(self, created: int) -> StatefulSet:
        """Set the number of pods that its controller has created."""
        return replace(self, created=created)

    def with_template(self, template: str) -> StatefulSet:
        """Set the digest of its template."""
        return replace(self, template=template)

    def with_files(self, files: str) -> StatefulSet:
        """Set the digest of the files of its pods."""
        return replace(self, files=files)

    def of_another(self) -> StatefulSet:
        """Mark it as created by another operator."""
        return replace(self, foreign=True)

    def with_stale_status(self) -> StatefulSet:
        """Make its status older than its spec."""
        return replace(self, observed_generation=self.generation - 1)

    def with_gates(self, *gates: str) -> StatefulSet:
        """Add the scheduling gate of a fence, or these gates, to its template."""
        return replace(self, gates=gates or (labels.FENCE_GATE,))

    def terminating(self) -> StatefulSet:
        """Make it terminating."""
        return replace(self, deleted="2030-01-01T00:00:00Z")

    def object(self) -> Object:
        """The object as the API server returns it."""
        voters = ServerPool(self.cluster, self.revision)
        name, selector = voters.stateful_set, voters.selector
        if self.reader:
            name = names.read_stateful_set(self.cluster)
            selector = labels.read_replicas(self.cluster)
        metadata: Object = {
            "name": name,
            "namespace": NAMESPACE,
            "uid": f"uid-sts-{name}",
            "resourceVersion": "1",
            "generation": self.generation,
            "labels": labels.base(self.cluster),
            "ownerReferences": [cluster(self.cluster).owner().reference()],
        }
        if self.deleted:
            metadata["deletionTimestamp"] = self.deleted
        volumes = [{"name": "config"}]
        if self.carries_first_boot:
            volumes.append({"name": INIT_VOLUME})
        marks = {
            "name": names.DATA_VOLUME,
            "labels": labels.base(self.cluster),
            "annotations": {labels.OWNER_UID: cluster(self.cluster).owner().uid},
        }
        claim: Object = {"resources": {"requests": {"storage": self.claim_size}}}
        if self.claim_class is not None:
            claim["storageClassName"] = self.claim_class
        status = {"readyReplicas": self.replicas}
        if self.created is not None:
            status["replicas"] = self.created
        stateful_set: Object = {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": metadata,
            "spec": {
                "replicas": self.replicas,
                "serviceName": self.service or names.headless_service(self.cluster),
                "podManagementPolicy": "Parallel",
                "selector": {"matchLabels": selector},
                "template": {
                    "metadata": {
                        "annotations": {
                            labels.TEMPLATE_HASH: self.template,
                            labels.RELOAD_HASH: self.files,
                            **({labels.UNSEAL_KEYS: self.keys} if self.keys else {}),
                        }
                    },
                    "spec": {
                        "volumes": volumes,
                        "schedulingGates": [{"name": gate} for gate in self.gates],
                        **({"serviceAccountName": self.account} if self.account else {}),
                    },
                },
                "volumeClaimTemplates": [{"metadata": marks, "spec": claim}],
            },
            "status": {**status, "observedGeneration": self.observed_generation},
        }
        return self._as_another_made_it(stateful_set) if self.foreign else stateful_set

    def _as_another_made_it(self, live: Object) -> Object:
        spec = live["spec"]
        mount = {"name": names.DATA_VOLUME, "mountPath": mount_paths.DATA}
        spec["podManagementPolicy"] = "OrderedReady"
        spec["selector"] = {"matchLabels": labels.base(self.cluster)}
        spec["template"]["metadata"] = {}
        spec["template"]["spec"]["containers"] = [{"name": CONTAINER, "volumeMounts": [mount]}]
        return live

    def facts(self) -> StatefulSetFacts | None:
        """The StatefulSet as plans receive it; None if it is treated as absent."""
        return stateful_set_facts(self.object())


def stateful_set(cluster: str = "x") -> StatefulSet:
    """Three replicas of the template "now", without the self-init config."""
    return StatefulSet(cluster)


def read_set(cluster: str = "x") -> StatefulSet:
    """Two read replicas of the template "now"."""
    return StatefulSet(cluster, replicas=2, reader=True)
