"""The condition types and reasons that the operator may ever show, as data.

Uses nothing. Read by contracts.conditions, which refuses what is not listed here, and by the
documentation, which prints it. A new state of the world gets a row here first.
"""

from dataclasses import dataclass
from typing import Literal

Polarity = Literal["good", "bad", "neutral"]


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a condition has the status it has: what that means and what a person does about it."""

    name: str
    meaning: str
    next_step: str


@dataclass(frozen=True, slots=True)
class ConditionType:
    """A question about a cluster.

    `polarity` says how True reads: good news, bad news, or neither. `reasons` are the names of the
    reasons that may answer it.
    """

    name: str
    polarity: Polarity
    meaning: str
    reasons: tuple[str, ...]


_NOTHING = "Nothing to do."
_WAIT = "Wait; if it lasts more than some minutes, read the events of the pods."

_REASONS = (
    # --- all is well
    Reason("Ready", "What this condition watches is as the spec asks.", _NOTHING),
    Reason("AllReplicasReady", "Every replica that the spec asks for is ready.", _NOTHING),
    Reason("AllVoters", "Every replica is a voter of the raft cluster.", _NOTHING),
    Reason("Initialized", "The cluster has been initialized.", _NOTHING),
    Reason("LeaderFound", "Exactly one server says that it leads.", _NOTHING),
    Reason("NoConflict", "Every object of the cluster belongs to it.", _NOTHING),
    Reason("ProductionReady", "No known reason speaks against production use.", _NOTHING),
    Reason("Served", "Every field of the spec is honoured.", _NOTHING),
    Reason("Unsealed", "The servers are unsealed.", _NOTHING),
    Reason("NotPaused", "The operator works on the cluster.", _NOTHING),
    # --- on the way
    Reason("Reconciling", "The operator is changing the cluster to what the spec asks.", _WAIT),
    Reason("NotReady", "Some replicas are ready and some are not.", _WAIT),
    Reason("NoReplicasReady", "No replica is ready.", _WAIT),
    Reason("FirstBoot", "The first server is starting alone to initialize the cluster.", _WAIT),
    Reason("NotInitialized", "No server has been initialized yet.", _WAIT),
    Reason("RollingOut", "Pods are being replaced one at a time.", _WAIT),
    Reason("LeaderUnknown", "No server says that it leads.", _WAIT),
    Reason("VotersMissing", "Some replicas are not voters of the raft cluster yet.", _WAIT),
    Reason("MembershipUnknown", "The raft membership could not be read.", _WAIT),
    Reason("Deleting", "The cluster is being deleted.", _WAIT),
    Reason("Unknown", "The facts that would answer this could not be read.", _WAIT),
    Reason(
        "TransientError",
        "A call to the API server or to a server failed and will be repeated.",
        "Wait; if it lasts, read the operator's log for this cluster.",
    ),
    # --- a person paused or switched off something
    Reason(
        "Paused",
        "spec.paused is true: the operator changes nothing.",
        "Set spec.paused to false when the operator should go on.",
    ),
    # --- a person must act
    Reason(
        "InvalidSpec",
        "The spec breaks a rule, so nothing was changed.",
        "Correct the fields that the message names.",
    ),
    Reason(
        "FieldsNotServed",
        "The spec uses fields that this version of the operator accepts but cannot honour.",
        "Remove the fields that the message names, or upgrade the operator.",
    ),
    Reason(
        "ForeignObject",
        "An object of a name that the cluster needs belongs to somebody else.",
        "Delete or rename the object, or hand it over with the annotation openbao.org/adopt.",
    ),
    Reason(
        "Rejected",
        "The API server refuses an object that the operator wants.",
        "Read the message: the spec asks for something that cannot be changed, or is forbidden.",
    ),
    Reason(
        "ScaleDownNotServed",
        "The spec asks for fewer servers than run, and this version takes no voter away.",
        "Set spec.replicas back to the number that runs.",
    ),
    Reason(
        "PrerequisitesMissing",
        "Something that the cluster needs from outside is missing.",
        "Create what the message names.",
    ),
    Reason(
        "TLSSecretMissing",
        "The Secret with the server certificate does not exist.",
        "Wait for the operator to write it, or create it when tls.mode is External.",
    ),
    Reason(
        "TLSSecretInvalid",
        "The Secret with the server certificate cannot be used.",
        "Delete the Secret so that the operator issues a new one, or correct it.",
    ),
    Reason(
        "CASecretMissing",
        "The Secret with the certificate authority does not exist.",
        "Restore it from a backup; a new authority makes every client trust a new one.",
    ),
    Reason(
        "UnsealKeyMissing",
        "Data exists, but the Secret with the unseal key does not.",
        "Restore the Secret from a backup; a new key cannot open the old data.",
    ),
    Reason(
        "RootTokenMissing",
        "The Secret with the root token does not exist, so the operator cannot log in.",
        "Restore the Secret, or generate a root token with the recovery keys.",
    ),
    Reason(
        "SelfInitFailed",
        "A self-init request failed, so the first server never became usable.",
        "Correct the request that the message names, delete the cluster and create it again.",
    ),
    Reason(
        "DowngradeBlocked",
        "spec.version is older than the version that runs.",
        "Set spec.version to the running version or a newer one.",
    ),
    Reason(
        "SplitBrain",
        "Servers of this cluster name different clusters as their own.",
        "Stop writing, find the server with the right data, and ask for help before any change.",
    ),
    Reason(
        "MultipleLeaders",
        "More than one server says that it leads.",
        "Wait one minute; if it lasts, check the network between the pods.",
    ),
    Reason(
        "Sealed",
        "A server is sealed and answers no request.",
        "Check the unseal key and the log of the sealed pod.",
    ),
    # --- advice
    Reason(
        "ProfileNotSet",
        "spec.profile is not set.",
        "Set spec.profile to Development or Hardened.",
    ),
    Reason(
        "DevelopmentProfile",
        "spec.profile is Development.",
        "Set spec.profile to Hardened for production.",
    ),
    Reason(
        "OperatorManagedTLS",
        "The operator holds the key of the certificate authority.",
        "Bring certificates of your own with tls.mode External for production.",
    ),
    Reason(
        "StaticUnsealInUse",
        "The unseal key lies in a Secret beside the data.",
        "Use a seal with an external key service for production.",
    ),
    Reason(
        "RootTokenStored",
        "A root token lies in a Secret.",
        "Use self-init, or revoke the token and delete the Secret.",
    ),
)

REASONS: dict[str, Reason] = {reason.name: reason for reason in _REASONS}

_PROGRESS = (
    "Reconciling",
    "NotReady",
    "NoReplicasReady",
    "FirstBoot",
    "NotInitialized",
    "RollingOut",
    "LeaderUnknown",
    "VotersMissing",
    "MembershipUnknown",
    "Deleting",
    "Unknown",
    "TransientError",
)
_TROUBLE = (
    "InvalidSpec",
    "FieldsNotServed",
    "ForeignObject",
    "Rejected",
    "ScaleDownNotServed",
    "PrerequisitesMissing",
    "TLSSecretMissing",
    "TLSSecretInvalid",
    "CASecretMissing",
    "UnsealKeyMissing",
    "RootTokenMissing",
    "SelfInitFailed",
    "DowngradeBlocked",
    "SplitBrain",
    "MultipleLeaders",
    "Sealed",
)
# The three summary conditions of kstatus, and Degraded, carry the reason of whatever decided them.
_SUMMARY = ("Ready", "AllReplicasReady", "Paused", *_PROGRESS, *_TROUBLE)

# The order is the order of the conditions in a status: the summary first, advice last.
TYPES: tuple[ConditionType, ...] = (
    ConditionType("Ready", "good", "The cluster is as the spec asks and serves.", _SUMMARY),
    ConditionType(
        "Reconciling", "neutral", "The operator is changing the cluster right now.", _SUMMARY
    ),
    ConditionType("Stalled", "bad", "The operator cannot go on until a person acts.", _SUMMARY),
    ConditionType(
        "Available",
        "good",
        "Every replica is ready.",
        (
            "AllReplicasReady",
            "NotReady",
            "NoReplicasReady",
            "ProfileNotSet",
            "Paused",
            "Deleting",
            "Unknown",
        ),
    ),
    ConditionType("Degraded", "bad", "Something is wrong that used to work.", _SUMMARY),
    ConditionType(
        "TLSReady",
        "good",
        "The certificates are in place and valid.",
        (
            "Ready",
            "TLSSecretMissing",
            "TLSSecretInvalid",
            "CASecretMissing",
            "ForeignObject",
            "Reconciling",
            "Paused",
            "Unknown",
        ),
    ),
    ConditionType(
        "OpenBaoInitialized",
        "good",
        "OpenBao has been initialized.",
        (
            "Initialized",
            "NotInitialized",
            "SelfInitFailed",
            "RootTokenMissing",
            "UnsealKeyMissing",
            "Unknown",
        ),
    ),
    ConditionType(
        "OpenBaoSealed",
        "bad",
        "At least one server is sealed.",
        ("Sealed", "Unsealed", "NotInitialized", "UnsealKeyMissing", "Unknown"),
    ),
    ConditionType(
        "OpenBaoLeader",
        "good",
        "Exactly one server leads.",
        ("LeaderFound", "MultipleLeaders", "LeaderUnknown", "NotInitialized", "SplitBrain"),
    ),
    ConditionType(
        "RaftMembershipReady",
        "good",
        "Every replica is a voter, and nobody else is.",
        (
            "AllVoters",
            "VotersMissing",
            "MembershipUnknown",
            "SplitBrain",
            "NotInitialized",
            "RootTokenMissing",
            "Unknown",
        ),
    ),
    ConditionType(
        "Conflict",
        "bad",
        "An object that the cluster needs belongs to somebody else.",
        ("ForeignObject", "NoConflict"),
    ),
    ConditionType(
        "Paused", "neutral", "The operator is told to keep still.", ("Paused", "NotPaused")
    ),
    ConditionType(
        "FieldsNotServed",
        "bad",
        "The spec uses fields that the operator cannot honour.",
        ("FieldsNotServed", "Served"),
    ),
    ConditionType(
        "ProductionReady",
        "good",
        "Nothing known speaks against production use.",
        (
            "ProductionReady",
            "ProfileNotSet",
            "DevelopmentProfile",
            "OperatorManagedTLS",
            "StaticUnsealInUse",
            "RootTokenStored",
            "FieldsNotServed",
        ),
    ),
)
