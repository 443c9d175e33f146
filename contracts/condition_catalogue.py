"""The condition types and reasons that the operator may ever show, as data.

Uses contracts.condition_reasons. Read by contracts.conditions, which refuses what is not listed
here, and by the documentation, which prints it. A new state of the world gets a row here first.
"""

from dataclasses import dataclass
from typing import Literal

from contracts.condition_reasons import REASONS
from contracts.reason import Reason

__all__ = ["REASONS", "TYPES", "ConditionType", "Polarity", "Reason"]

Polarity = Literal["good", "bad", "neutral"]


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


_PROGRESS = (
    "Reconciling",
    "NotReady",
    "NoReplicasReady",
    "FirstBoot",
    "NotInitialized",
    "RollingOut",
    "Reloading",
    "RolloutStuck",
    "LeaderUnknown",
    "VotersMissing",
    "MembershipUnknown",
    "Deleting",
    "Unknown",
    "RotatingUnsealKey",
    "SecretAccessPending",
    "TransientError",
    "ImageRegistryUnavailable",
    "Hibernated",
    "Hibernating",
    "Waking",
    "Fencing",
    "PodsFenced",
    "Maintenance",
    "StorageResizing",
    "RecreatingStatefulSet",
    "Scaling",
    "ReadReplicasNotReady",
    "ReadReplicasLeaving",
)
_TROUBLE = (
    "InvalidSpec",
    "FieldsNotServed",
    "ForeignObject",
    "Rejected",
    "ScaleDownBlocked",
    "StaleVolume",
    "PodStuckTerminating",
    "PrerequisitesMissing",
    "TLSSecretMissing",
    "TLSSecretInvalid",
    "CASecretMissing",
    "ACMECacheInvalid",
    "AuditFileStorageInvalid",
    "UnsealKeyMissing",
    "UnsealKeyChanged",
    "UnsealKeyRotationRefused",
    "RootTokenMissing",
    "SelfInitFailed",
    "OIDCBootstrapConfigurationInvalid",
    "DowngradeBlocked",
    "ImageVersionMismatch",
    "ImageVerificationFailed",
    "SplitBrain",
    "MultipleLeaders",
    "ReadReplicaVotes",
    "ReadReplicaRemovalRefused",
    "Sealed",
    "FencingRefused",
    "StorageResizeNotSupported",
    "StorageResizeFailed",
    "StorageShrinkNotSupported",
    "StorageClassChangeNotSupported",
    "VolumeLost",
    "StatefulSetImmutable",
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
            "Hibernated",
            "PodsFenced",
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
            "CertificateNotServed",
            "ACMECacheInvalid",
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
        ("Sealed", "Unsealed", "NotInitialized", "UnsealKeyMissing", "Hibernated", "Unknown"),
    ),
    ConditionType(
        "OpenBaoLeader",
        "good",
        "Exactly one server leads.",
        (
            "LeaderFound",
            "MultipleLeaders",
            "LeaderUnknown",
            "NotInitialized",
            "SplitBrain",
            "Hibernated",
        ),
    ),
    ConditionType(
        "CloudUnsealIdentityReady",
        "good",
        "The servers can prove to the key service of their seal who they are.",
        (
            "Ready",
            "WorkloadIdentityConfigured",
            "CredentialsSecretConfigured",
            "CredentialsSecretMissing",
            "AmbientIdentityAssumed",
        ),
    ),
    ConditionType(
        "RaftMembershipReady",
        "good",
        "Every replica is a voter, every read replica a member without a vote, and nobody else is.",
        (
            "AllVoters",
            "VotersMissing",
            "ServerOutsideRaft",
            "ReadReplicasMissing",
            "MembersUnexpected",
            "MembershipUnknown",
            "SplitBrain",
            "NotInitialized",
            "RootTokenMissing",
            "Hibernated",
            "Unknown",
        ),
    ),
    ConditionType(
        "ReadReplicasReady",
        "good",
        "Every read replica is ready; absent if the spec asks for none.",
        (
            "AllReadReplicasReady",
            "ReadReplicasNotReady",
            "NoReadyReadReplicas",
            "NotInitialized",
            "Hibernated",
        ),
    ),
    ConditionType(
        "ReadServingAvailable",
        "good",
        "Read replicas answer reads themselves; absent if the spec asks for none.",
        ("ReadServingAvailable", "StandbyReadsNotServed", "PodsNotServingReads"),
    ),
    ConditionType(
        "AutopilotConfigured",
        "good",
        "The autopilot of raft has the settings that the spec asks for.",
        ("AutopilotApplied", "AutopilotRefused", "AutopilotUnknown", "NotInitialized"),
    ),
    ConditionType(
        "AuditFileStorageReady",
        "good",
        "The volume for the files of audit devices is there, if one is asked for.",
        ("Ready", "PrerequisitesMissing", "AuditFileStorageInvalid"),
    ),
    ConditionType(
        "StorageConfigured",
        "good",
        "The data volumes are as the spec asks.",
        (
            "StorageClassConfigured",
            "StorageClassDefaulted",
            "StorageClassPending",
            "StorageResizing",
            "StorageResizeNotSupported",
            "StorageResizeFailed",
            "StorageShrinkNotSupported",
            "StorageClassChangeNotSupported",
            "VolumeLost",
            "ForeignObject",
        ),
    ),
    ConditionType(
        "UserAccessBootstrap",
        "good",
        "People can log in after the first boot, as far as the requests show.",
        (
            "UserLoginFound",
            "RootTokenStored",
            "RootTokenMissing",
            "RecoveryKeysOnly",
            "NoUserLogin",
            "NotInitialized",
        ),
    ),
    ConditionType(
        "OperatorLoginReady",
        "good",
        "The operator and its jobs can log in to OpenBao.",
        (
            "OperatorLoginTrusted",
            "OperatorLoginOutdated",
            "OperatorLoginRefused",
            "OperatorLoginMissing",
            "NotInitialized",
            "Unknown",
        ),
    ),
    ConditionType(
        "RecoveryKeysReady",
        "good",
        "The first recovery keys are where their recipients find them.",
        (
            "RecoveryKeysStored",
            "RecoveryKeysMissing",
            "OperatorLoginMissing",
            "OperatorLoginRefused",
            "ForeignObject",
            "NotInitialized",
            "Reconciling",
        ),
    ),
    ConditionType(
        "ServiceAccountReady",
        "good",
        "The servers run under a ServiceAccount that a person made.",
        ("ServiceAccountReused", "ServiceAccountAnnotationsMissing"),
    ),
    ConditionType(
        "APIServerNetworkReady",
        "good",
        "The NetworkPolicies let the servers reach the API server.",
        (
            "APIServerNetworkReady",
            "APIServerNetworkConfigurationInvalid",
            "APIServerEndpointIPsRecommended",
        ),
    ),
    ConditionType(
        "IngressIntegrationReady",
        "good",
        "Clients get in through the Ingress.",
        ("IngressIntegrationReady", "IngressAddressMissing", "ForeignObject", "Reconciling"),
    ),
    ConditionType(
        "GatewayIntegrationReady",
        "good",
        "Clients get in through the Gateway.",
        (
            "GatewayIntegrationReady",
            "GatewayAPIMissing",
            "GatewayVersionUnsupported",
            "GatewayReferenceMissing",
            "GatewayClassMissing",
            "GatewayClassPending",
            "GatewayClassNotAccepted",
            "GatewayListenerIncompatible",
            "GatewayNotProgrammed",
            "GatewayProgrammingPending",
            "GatewayRouteRefused",
            "ForeignObject",
            "Reconciling",
        ),
    ),
    ConditionType(
        "ServiceMonitorReady",
        "good",
        "Prometheus is told where the servers are.",
        ("ServiceMonitorReady", "MonitoringAPIMissing", "Reconciling"),
    ),
    ConditionType(
        "Conflict",
        "bad",
        "An object that the cluster needs belongs to somebody else.",
        ("ForeignObject", "NoConflict"),
    ),
    ConditionType("Paused", "neutral", "The operator is told to keep still.", ("Paused",)),
    ConditionType(
        "Hibernated",
        "neutral",
        "No server runs, because spec.hibernate says so.",
        ("Hibernated", "Hibernating", "Waking", "NotInitialized"),
    ),
    ConditionType(
        "PodsFenced",
        "neutral",
        "The servers of spec.fencedPods have stopped and cannot start.",
        ("PodsFenced", "Fencing", "FencingRefused"),
    ),
    ConditionType(
        "Maintenance",
        "neutral",
        "The operator leaves for later whatever can wait.",
        ("Maintenance",),
    ),
    ConditionType(
        "FieldsNotServed",
        "bad",
        "The spec uses fields that the operator cannot honour.",
        ("FieldsNotServed",),
    ),
    ConditionType(
        "ImageVerified",
        "good",
        "The content that new pods run was proven by a signature.",
        ("ImageVerified", "ImageVerificationFailed", "ImageRegistryUnavailable", "Unknown"),
    ),
    ConditionType(
        "SecurityRisk",
        "bad",
        "The cluster runs with less than production needs, because its spec says so.",
        ("DevelopmentProfile",),
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
            "NoUserLogin",
            "FieldsNotServed",
            "EvenReplicas",
            "AdmissionPoliciesMissing",
        ),
    ),
)
