"""The condition types and reasons that the operator may ever show, as data.

Uses contracts.conditions.reasons. Read by contracts.conditions.condition, which refuses what is not
listed here, and by the documentation, which prints it. A new state gets an entry here
first.
"""

from contracts.conditions.catalogue_backup import BACKUP_TYPES
from contracts.conditions.condition_type import ConditionType, Polarity
from contracts.conditions.reason import Reason
from contracts.conditions.reasons import REASONS
from contracts.conditions.reasons_upgrade import UPGRADE_TYPES
from contracts.conditions.summary_reasons import SUMMARY

__all__ = ["REASONS", "TYPES", "ConditionType", "Polarity", "Reason"]

# The order is the order of the conditions in a status: the summary first, advice last.
TYPES: tuple[ConditionType, ...] = (
    ConditionType("Ready", "good", "The cluster matches its spec and serves requests.", SUMMARY),
    ConditionType(
        "Reconciling",
        "neutral",
        "The operator is bringing the cluster to the desired state.",
        SUMMARY,
    ),
    ConditionType("Stalled", "bad", "The operator cannot continue without a user action.", SUMMARY),
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
    ConditionType("Degraded", "bad", "A component that was healthy is no longer healthy.", SUMMARY),
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
        "Exactly one server is the active node.",
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
        "The servers have an identity that the key service of their seal accepts.",
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
        "Every replica is a voter, every read replica is a non-voter, and there are no other "
        "members.",
        (
            "AllVoters",
            "VotersMissing",
            "ServerOutsideRaft",
            "ReadReplicasMissing",
            "MembersUnexpected",
            "MembershipUnknown",
            "AnswerUnusable",
            "UpgradeInProgress",
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
        "Every read replica is ready; absent without spec.readReplicas.",
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
        "Read replicas serve reads themselves; absent without spec.readReplicas.",
        ("ReadServingAvailable", "StandbyReadsNotServed", "PodsNotServingReads"),
    ),
    ConditionType(
        "AutopilotConfigured",
        "good",
        "The raft autopilot has the settings of the spec.",
        ("AutopilotApplied", "AutopilotRefused", "AutopilotUnknown", "NotInitialized"),
    ),
    ConditionType(
        "AuditFileStorageReady",
        "good",
        "The PVC for the files of audit devices exists, if the spec has one.",
        ("Ready", "PrerequisitesMissing", "AuditFileStorageInvalid"),
    ),
    ConditionType(
        "StorageConfigured",
        "good",
        "The data volumes match the spec.",
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
        "According to the self-init requests, users can log in after initialization.",
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
        "The operator and its Jobs can log in to OpenBao.",
        (
            "OperatorLoginTrusted",
            "OperatorLoginOutdated",
            "OperatorLoginRefused",
            "OperatorLoginMissing",
            "RootTokenMissing",
            "NotInitialized",
            "Reconciling",
            "Unknown",
        ),
    ),
    ConditionType(
        "RecoveryKeysReady",
        "good",
        "The initial recovery shares are in their Secret.",
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
        "The servers use a ServiceAccount that has another owner.",
        ("ServiceAccountReused", "ServiceAccountAnnotationsMissing"),
    ),
    ConditionType(
        "APIServerNetworkReady",
        "good",
        "The NetworkPolicies allow the servers to reach the API server.",
        (
            "APIServerNetworkReady",
            "APIServerNetworkConfigurationInvalid",
            "APIServerEndpointIPsRecommended",
        ),
    ),
    ConditionType(
        "IngressIntegrationReady",
        "good",
        "Clients can connect through the Ingress.",
        ("IngressIntegrationReady", "IngressAddressMissing", "ForeignObject", "Reconciling"),
    ),
    ConditionType(
        "GatewayIntegrationReady",
        "good",
        "Clients can connect through the Gateway.",
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
        "A ServiceMonitor selects the servers.",
        ("ServiceMonitorReady", "MonitoringAPIMissing", "Reconciling"),
    ),
    ConditionType(
        "Conflict",
        "bad",
        "An object with a name that the cluster needs has another owner.",
        ("ForeignObject", "NoConflict"),
    ),
    ConditionType(
        "Adopted",
        "good",
        "This operator has adopted the servers that another operator created.",
        ("AdoptionPending", "Adopting", "AdoptionRefused"),
    ),
    ConditionType(
        "Paused", "neutral", "spec.paused is true: the operator changes nothing.", ("Paused",)
    ),
    ConditionType(
        "Hibernated",
        "neutral",
        "No server runs, because spec.hibernate is true.",
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
        "spec.maintenance.enabled is true: the operator replaces no pods and removes no servers.",
        ("Maintenance",),
    ),
    ConditionType(
        "UnsupportedFields",
        "bad",
        "The spec uses fields that the operator ignores.",
        ("UnsupportedFields",),
    ),
    ConditionType(
        "SchemaOutdated",
        "bad",
        "The CustomResourceDefinitions on the API server are older than the operator.",
        ("SchemaOutdated",),
    ),
    ConditionType(
        "ImageVerified",
        "good",
        "The signature of the image of new pods was verified.",
        ("ImageVerified", "ImageVerificationFailed", "ImageRegistryUnavailable", "Unknown"),
    ),
    ConditionType(
        "SecurityRisk",
        "bad",
        "The spec selects settings that are not meant for production.",
        ("DevelopmentProfile",),
    ),
    *UPGRADE_TYPES,
    *BACKUP_TYPES,
    ConditionType(
        "ProductionReady",
        "good",
        "The operator knows of no blocker for production use.",
        (
            "ProductionReady",
            "ProfileNotSet",
            "DevelopmentProfile",
            "OperatorManagedTLS",
            "StaticUnsealInUse",
            "RootTokenStored",
            "NoUserLogin",
            "UnsupportedFields",
            "EvenReplicas",
            "AdmissionPoliciesMissing",
        ),
    ),
)
