"""Reasons about the life of the pods and their volumes. Uses contracts.conditions.reason."""

from typing import Final

from contracts.conditions.reason import NOTHING, Reason

QUESTION_REFUSED: Final = "QuorumQuestionRefused"
"""Waited for by whatever would take a server away (managers.workload, managers.upgrade)."""

BUDGET_CLOSED: Final = "DisruptionBudgetClosed"
"""Waited for by a roll."""

WORKLOAD_REASONS: tuple[Reason, ...] = (
    # --- asked for by a person, by name
    Reason(
        "Hibernated",
        "The cluster is hibernated: spec.hibernate is true and no server runs.",
        "Set spec.hibernate to false to resume.",
    ),
    Reason(
        "Hibernating",
        "The servers are stopping, because spec.hibernate is true.",
        "Wait; the servers end within two minutes. Then read the events of the pods that are left.",
    ),
    Reason(
        "Waking",
        "The servers resume from hibernation.",
        "Wait; a server becomes ready within a minute of its start. Then read the events and the "
        "log of its pod.",
    ),
    Reason(
        "Fencing",
        "A server of spec.fencedPods is being stopped.",
        "Wait; the server ends within two minutes. Then read the events of its pod.",
    ),
    Reason(
        "PodsFenced",
        "Servers of spec.fencedPods are stopped.",
        "Remove a pod from the list to start its server again.",
    ),
    Reason(
        "FencingRefused",
        "A server of spec.fencedPods is not stopped: the quorum needs it, or no server has that "
        "name.",
        "Repair the other servers, or remove the pod that the message names from the list.",
    ),
    Reason(
        "Maintenance",
        "spec.maintenance.enabled is true: the operator defers what can wait.",
        "Set spec.maintenance.enabled to false when the maintenance is over.",
    ),
    # --- the data volumes (StorageConfigured)
    Reason(
        "StorageClassConfigured", "The data volumes have the size and class of the spec.", NOTHING
    ),
    Reason(
        "StorageClassDefaulted",
        "The data volumes have the size of the spec, and the default StorageClass.",
        NOTHING,
    ),
    Reason(
        "StorageClassPending",
        "Some PVCs are not bound yet.",
        "Wait; then check that the StorageClass exists, and read the events of the PVC.",
    ),
    Reason(
        "StorageResizing",
        "The data volumes are being resized.",
        "Wait; then read the events of the PVCs, and the log of the storage driver.",
    ),
    Reason(
        "StorageResizeNotSupported",
        "The API server lets a volume claim not grow; the servers go on with what they have.",
        "Let the StorageClass expand volumes (allowVolumeExpansion), or move to a new cluster.",
    ),
    Reason(
        "StorageResizeFailed",
        "The storage driver could not resize a volume, and retries.",
        "Fix the cause that the message names, in the storage or its quota.",
    ),
    Reason(
        "StorageShrinkNotSupported",
        "A volume is larger than spec.storage.size, and volumes cannot shrink.",
        "Set spec.storage.size to the size that the message names.",
    ),
    Reason(
        "StorageClassChangeNotSupported",
        "A volume has another StorageClass than the spec asks for, and that cannot change.",
        "Restore the former class, or move the data to a new cluster.",
    ),
    Reason(
        "VolumeLost",
        "The volume of a server is lost, or goes as soon as its pod ends.",
        "Do what the message says while all other servers are ready.",
    ),
    Reason(
        "RecreatingStatefulSet",
        "The StatefulSet is recreated around its running pods.",
        "Wait; no pod is restarted. If it lasts, the message names what it waits for.",
    ),
    Reason(
        "StatefulSetImmutable",
        "The API server rejects a change of an immutable field of the StatefulSet.",
        "Delete the StatefulSet with --cascade=orphan; the operator recreates it.",
    ),
    # --- servers that another operator made (Adopted)
    Reason(
        "AdoptionPending",
        "Another operator made the servers; they run on, and nothing of them is changed.",
        "Set spec.runtime.restartAt when the servers may be replaced, one after the other.",
    ),
    Reason(
        "Adopting",
        "The servers that another operator made become this operator's own.",
        "Wait; pods are labelled and the StatefulSet is made anew, and no server ends for it.",
    ),
    Reason(
        "AdoptionRefused",
        "Servers that another operator made cannot be taken over; nothing was changed.",
        "Do what the message says, or go on with the operator that made them; see docs/migrate.md.",
    ),
    # --- the number of servers
    Reason(
        "Scaling",
        "Servers are being added, or removed one at a time.",
        "Wait; removing a server takes about half a minute. The message names what it waits for.",
    ),
    Reason(
        "ScaleDownBlocked",
        "The spec requests fewer servers, and OpenBao does not allow the operator to remove one.",
        "Follow the message, or set spec.replicas to the number of running servers.",
    ),
    Reason(
        QUESTION_REFUSED,
        "OpenBao does not allow the operator to read the health of the voters, so no server is "
        "removed.",
        "Follow the message; see docs/rollouts.md.",
    ),
    Reason(
        BUDGET_CLOSED,
        "A PodDisruptionBudget does not allow the next eviction: a node is drained, or a server "
        "is away.",
        "Wait for the drain; remove a budget of another owner over the servers, which the message"
        " names.",
    ),
    Reason(
        "StaleVolume",
        "A volume with the data of an earlier server keeps a new one from starting.",
        "Delete the PVC that the message names, if its data is not needed.",
    ),
    Reason(
        "PodStuckTerminating",
        "A pod has been terminating for too long, and its node has not confirmed the termination.",
        "Bring the node back; or make sure that it is off, and follow the message.",
    ),
    Reason(
        "ServerOutsideRaft",
        "A running server is not a member of the raft cluster, so its data is outdated.",
        "Follow the message: with an empty volume the server joins again.",
    ),
    Reason(
        "EvenReplicas",
        "An even number of servers tolerates no more failures than one server less.",
        "Set spec.replicas to an odd number.",
    ),
    # --- the read replicas
    Reason("AllReadReplicasReady", "Every read replica of the spec is ready.", NOTHING),
    Reason(
        "ReadReplicasNotReady",
        "Some read replicas are not ready.",
        "Wait a few minutes; then read the events and the logs of the pods that the message names.",
    ),
    Reason(
        "NoReadyReadReplicas",
        "No read replica is ready.",
        "Wait a few minutes; then read the events and the logs of the pods that the message names.",
    ),
    Reason(
        "ReadReplicasLeaving",
        "Read replicas are being removed from the raft cluster, one at a time.",
        "Wait; each takes about half a minute. The message names what it waits for.",
    ),
    Reason(
        "ReadReplicasMissing",
        "Some read replicas have not joined the raft cluster yet.",
        "Wait a minute; then read the logs of their pods.",
    ),
    Reason(
        "MembersUnexpected",
        "The raft cluster has members that the spec does not contain.",
        "Compare `bao operator raft list-peers` with the spec; remove or demote the surplus "
        "members.",
    ),
    Reason(
        "ReadReplicaVotes",
        "A read replica is a voter, so it is neither replaced nor removed.",
        "Demote it as the message says.",
    ),
    Reason(
        "ReadReplicaRemovalRefused",
        "OpenBao does not allow the operator to remove a read replica from the raft cluster.",
        "Follow the message.",
    ),
    Reason("ReadServingAvailable", "Read replicas serve reads themselves.", NOTHING),
    Reason(
        "StandbyReadsNotServed",
        "This version of OpenBao forwards every read to the leader, from read replicas too.",
        "Nothing to do; OpenBao 2.5.0 and later serve reads from them.",
    ),
    Reason(
        "PodsNotServingReads",
        "No read replica is ready to serve reads.",
        "Wait a few minutes; then read the events and the logs of the pods that the message names.",
    ),
)
