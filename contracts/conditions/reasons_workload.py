"""Reasons about the life of the pods and their volumes. Uses contracts.conditions.reason."""

from typing import Final

from contracts.conditions.reason import NOTHING, WAIT, Reason

QUESTION_REFUSED: Final = "QuorumQuestionRefused"
"""Waited for by whatever would take a server away (managers.workload, managers.upgrade)."""

BUDGET_CLOSED: Final = "DisruptionBudgetClosed"
"""Waited for by a roll."""

WORKLOAD_REASONS: tuple[Reason, ...] = (
    # --- asked for by a person, by name
    Reason(
        "Hibernated",
        "No server runs, because spec.hibernate is true.",
        "Set spec.hibernate to false when the servers should come back.",
    ),
    Reason("Hibernating", "The servers are stopping, because spec.hibernate is true.", WAIT),
    Reason("Waking", "The servers come back from hibernation.", WAIT),
    Reason("Fencing", "A server of spec.fencedPods is being stopped.", WAIT),
    Reason(
        "PodsFenced",
        "Servers are kept from running by spec.fencedPods.",
        "Take a pod off the list when its server should run again.",
    ),
    Reason(
        "FencingRefused",
        "A server of spec.fencedPods runs on: the others need it, or no server is called so.",
        "Repair the other servers, or take the pod that the message names off the list.",
    ),
    Reason(
        "Maintenance",
        "spec.maintenance.enabled is true: what can wait is left for later.",
        "Set spec.maintenance.enabled to false when the work is done.",
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
        "Data volumes are not made yet.",
        "Wait; if it lasts, look for the StorageClass and read the events of the claim.",
    ),
    Reason("StorageResizing", "The data volumes grow.", WAIT),
    Reason(
        "StorageResizeNotSupported",
        "The API server lets a volume claim not grow; the servers go on with what they have.",
        "Let the StorageClass expand volumes (allowVolumeExpansion), or move to a new cluster.",
    ),
    Reason(
        "StorageResizeFailed",
        "The storage driver could not let a volume grow, and goes on trying.",
        "Mend the cause that the message names, in the storage or its quota.",
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
        "The StatefulSet is made anew around its running pods.",
        "Wait; no pod is touched. If it lasts, do what the message waits for.",
    ),
    Reason(
        "StatefulSetImmutable",
        "The API server refuses a change of the StatefulSet that nobody can make in place.",
        "Delete the StatefulSet with --cascade=orphan; the operator makes it anew.",
    ),
    # --- the number of servers
    Reason("Scaling", "Servers are taken away one at a time, or new ones are on their way.", WAIT),
    Reason(
        "ScaleDownBlocked",
        "The spec asks for fewer servers than run, and OpenBao lets the operator take none away.",
        "Do what the message says, or set spec.replicas back to the number that runs.",
    ),
    Reason(
        QUESTION_REFUSED,
        "OpenBao refuses to tell the operator who votes and is well, so no server is taken away.",
        "Do what the message says; docs/rollouts.md tells more.",
    ),
    Reason(
        BUDGET_CLOSED,
        "A disruption budget lets the next server not go now: a node is drained, or one is away.",
        "Wait for the drain; a budget of somebody else over the servers, which the message names, "
        "has to go.",
    ),
    Reason(
        "StaleVolume",
        "A volume with the data of an earlier server keeps a new one from starting.",
        "Delete the volume claim that the message names, if nobody needs its data.",
    ),
    Reason(
        "PodStuckTerminating",
        "A pod ought to have ended long ago, and its node does not say that it has.",
        "Bring the node back; or make sure that it is dead, and do what the message says.",
    ),
    Reason(
        "ServerOutsideRaft",
        "A server runs and is no member of the raft cluster, so its copy of the data is old.",
        "Do what the message says: with an empty volume it joins anew.",
    ),
    Reason(
        "EvenReplicas",
        "An even number of servers survives no more losses than one server less would.",
        "Set spec.replicas to an odd number.",
    ),
    # --- the read replicas
    Reason("AllReadReplicasReady", "Every read replica that the spec asks for is ready.", NOTHING),
    Reason("ReadReplicasNotReady", "Some read replicas are not ready.", WAIT),
    Reason("NoReadyReadReplicas", "No read replica is ready.", WAIT),
    Reason("ReadReplicasLeaving", "Read replicas leave the raft cluster, one at a time.", WAIT),
    Reason("ReadReplicasMissing", "Some read replicas have not joined the raft cluster yet.", WAIT),
    Reason(
        "MembersUnexpected",
        "The raft cluster has members that the spec does not ask for.",
        "Compare `bao operator raft list-peers` with the spec; remove or demote what is too much.",
    ),
    Reason(
        "ReadReplicaVotes",
        "Somebody gave a read replica a vote, so it is neither replaced nor taken away.",
        "Take the vote back as the message says.",
    ),
    Reason(
        "ReadReplicaRemovalRefused",
        "OpenBao does not let the operator remove a read replica from the raft cluster.",
        "Do what the message says.",
    ),
    Reason("ReadServingAvailable", "Read replicas answer reads themselves.", NOTHING),
    Reason(
        "StandbyReadsNotServed",
        "This version of OpenBao forwards every read to the leader, from read replicas too.",
        "Nothing to do; OpenBao 2.5.0 and later serve reads from them.",
    ),
    Reason("PodsNotServingReads", "No read replica is ready to answer reads.", WAIT),
)
