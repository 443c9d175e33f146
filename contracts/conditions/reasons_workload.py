"""Reasons about pods and their volumes. Uses contracts.conditions.reason."""

from typing import Final

from contracts.conditions.reason import NO_ACTION, Reason

QUESTION_REFUSED: Final = "QuorumQuestionRefused"
"""Blocks the removal of a server (managers.workload, managers.upgrade)."""

BUDGET_CLOSED: Final = "DisruptionBudgetClosed"
"""Blocks a rollout."""

WORKLOAD_REASONS: tuple[Reason, ...] = (
    # --- requested by a user
    Reason(
        "Hibernated",
        "The cluster is hibernated: spec.hibernate is true and no server runs.",
        "Set spec.hibernate to false to resume.",
    ),
    Reason(
        "Hibernating",
        "The servers are stopping, because spec.hibernate is true.",
        "Wait; the servers stop within two minutes. If not, read the events of the remaining pods.",
    ),
    Reason(
        "Waking",
        "The servers resume from hibernation.",
        "Wait; a server becomes ready within a minute of its start. If not, read the events and "
        "the log of its pod.",
    ),
    Reason(
        "Fencing",
        "A server in spec.fencedPods is being stopped.",
        "Wait; the server stops within two minutes. If not, read the events of its pod.",
    ),
    Reason(
        "PodsFenced",
        "Servers in spec.fencedPods are stopped.",
        "Remove a pod from spec.fencedPods to start its server again.",
    ),
    Reason(
        "FencingRefused",
        "A server in spec.fencedPods is not stopped: the quorum requires it, or no server has "
        "that name.",
        "Repair the other servers, or remove the pod that the message names from spec.fencedPods.",
    ),
    Reason(
        "Maintenance",
        "spec.maintenance.enabled is true: the operator replaces no pods and removes no servers.",
        "Set spec.maintenance.enabled to false when the maintenance is over.",
    ),
    # --- the data volumes (StorageConfigured)
    Reason(
        "StorageClassConfigured", "The data volumes have the size and class of the spec.", NO_ACTION
    ),
    Reason(
        "StorageClassDefaulted",
        "The data volumes have the size of the spec, and the default StorageClass.",
        NO_ACTION,
    ),
    Reason(
        "StorageClassPending",
        "Some PVCs are not bound yet.",
        "Wait; a volume is bound within a minute. If not, check that the StorageClass exists, and "
        "read the events of the PVC.",
    ),
    Reason(
        "StorageResizing",
        "The data volumes are being resized.",
        "Wait; most drivers take a few minutes. If not, read the events of the PVCs, and the log "
        "of the storage driver.",
    ),
    Reason(
        "StorageResizeNotSupported",
        "The API server does not allow a PVC to grow; the volumes keep their current size.",
        "Set allowVolumeExpansion of the StorageClass to true, or move the data to a new cluster.",
    ),
    Reason(
        "StorageResizeFailed",
        "The storage driver could not resize a volume; it retries.",
        "Read `kubectl describe pvc <pvc>`. Free capacity or raise the quota in the storage "
        "system; the driver retries.",
    ),
    Reason(
        "StorageShrinkNotSupported",
        "A volume is larger than spec.storage.size, and volumes cannot shrink.",
        "Set spec.storage.size to the size that the message names.",
    ),
    Reason(
        "StorageClassChangeNotSupported",
        "The StorageClass of a volume differs from the spec, and the class of a volume cannot be "
        "changed.",
        "Restore the former class in the spec, or move the data to a new cluster.",
    ),
    Reason(
        "VolumeLost",
        "The volume of a server is lost, or will be deleted when its pod ends.",
        "While all other servers are ready, delete the pod, and its PVC if it is Lost: the new "
        "server copies the data.",
    ),
    Reason(
        "RecreatingStatefulSet",
        "The operator is recreating the StatefulSet; its pods keep running.",
        "Wait a few seconds; no pod is restarted. If it takes longer, the message names what the "
        "operator waits for.",
    ),
    Reason(
        "StatefulSetImmutable",
        "The API server rejects a change of an immutable field of the StatefulSet.",
        "Delete the StatefulSet with --cascade=orphan; the operator recreates it.",
    ),
    # --- servers of another operator (Adopted)
    Reason(
        "AdoptionPending",
        "Another operator created the servers. They keep running, and this operator does not "
        "change them.",
        "Set spec.runtime.restartAt when the servers may be replaced, one at a time.",
    ),
    Reason(
        "Adopting",
        "This operator is adopting the servers that another operator created.",
        "Wait; the operator labels the pods and recreates the StatefulSet. No server is stopped.",
    ),
    Reason(
        "AdoptionRefused",
        "This operator cannot adopt the servers that another operator created; nothing was "
        "changed.",
        "Correct the difference that the message names, or keep the other operator "
        "(docs/migrate.md).",
    ),
    # --- the number of servers
    Reason(
        "Scaling",
        "Servers are being added, or removed one at a time.",
        "Wait; removing a server takes about half a minute. The message names what the operator "
        "is waiting for.",
    ),
    Reason(
        "ScaleDownBlocked",
        "The spec requests fewer servers, and OpenBao does not allow the operator to remove one.",
        "Grant the operator the request that the message names, or set spec.replicas to the "
        "number of running servers.",
    ),
    Reason(
        QUESTION_REFUSED,
        "OpenBao does not allow the operator to read the health of the voters, so no server is "
        "removed.",
        "Correct the policy or the role that the message names; docs/rollouts.md lists the "
        "queries.",
    ),
    Reason(
        BUDGET_CLOSED,
        "A PodDisruptionBudget does not allow the next eviction: a node is being drained, or a "
        "server is not ready.",
        "Wait for the drain to end. If the message names a PodDisruptionBudget of another owner, "
        "remove it.",
    ),
    Reason(
        "StaleVolume",
        "A volume contains the data of an earlier server, so the new server cannot start.",
        "Delete the PVC that the message names, if you do not need its data.",
    ),
    Reason(
        "PodStuckTerminating",
        "A pod has been terminating for too long, and its node has not confirmed the termination.",
        "Recover the node. If it is lost, make sure that it is powered off, and delete the pod as "
        "the message describes.",
    ),
    Reason(
        "ServerOutsideRaft",
        "A running server is not a member of the raft cluster, so its data is outdated.",
        "Replace its volume as the message describes: with an empty volume the server joins again "
        "and copies the data.",
    ),
    Reason(
        "EvenReplicas",
        "An even number of servers tolerates no more failures than one server fewer.",
        "Set spec.replicas to an odd number.",
    ),
    # --- the read replicas
    Reason("AllReadReplicasReady", "Every read replica of the spec is ready.", NO_ACTION),
    Reason(
        "ReadReplicasNotReady",
        "Some read replicas are not ready.",
        "Wait; a read replica copies all data first. If the number does not rise, read the log of "
        "a pod in the message.",
    ),
    Reason(
        "NoReadyReadReplicas",
        "No read replica is ready.",
        "Wait; the first takes a few minutes. If not, read the events of the pods that the "
        "message names.",
    ),
    Reason(
        "ReadReplicasLeaving",
        "Read replicas are being removed from the raft cluster, one at a time.",
        "Wait; each takes about half a minute. The message names what the operator is waiting for.",
    ),
    Reason(
        "ReadReplicasMissing",
        "Some read replicas have not joined the raft cluster yet.",
        "Wait; a server joins within a minute of its start. If not, read the logs of the pods of "
        "the read replicas.",
    ),
    Reason(
        "MembersUnexpected",
        "The raft cluster has members that are not in the spec.",
        "Compare `bao operator raft list-peers` with the spec; remove or demote the surplus "
        "members.",
    ),
    Reason(
        "ReadReplicaVotes",
        "A read replica is a voter, so the operator does not replace or remove it.",
        "Demote it with the command in the message, or with `bao write sys/storage/raft/demote "
        "server_id=<pod>`.",
    ),
    Reason(
        "ReadReplicaRemovalRefused",
        "OpenBao does not allow the operator to remove a read replica from the raft cluster.",
        "Grant the operator the request that the message names, or remove the member with `bao "
        "operator raft remove-peer`.",
    ),
    Reason(
        "ReadServingAvailable",
        "Read replicas serve reads, instead of forwarding them to the leader.",
        NO_ACTION,
    ),
    Reason(
        "StandbyReadsNotServed",
        "In this version of OpenBao, read replicas forward every read to the leader.",
        "Nothing to do; in OpenBao 2.5.0 and later, read replicas serve reads.",
    ),
    Reason(
        "PodsNotServingReads",
        "No read replica is ready, so all reads go to the leader.",
        "Wait; the condition ReadReplicasReady shows what the read replicas wait for.",
    ),
)
