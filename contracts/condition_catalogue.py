"""The condition types and reasons that the operator may ever show, as data.

Uses contracts.condition_reasons. Read by contracts.conditions, which refuses what is not listed
here, and by the documentation, which prints it. A new state of the world gets a row here first.
"""

from dataclasses import dataclass
from typing import Literal

from contracts.condition_reasons import REASONS, Reason

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
    "TransientError",
    "ImageRegistryUnavailable",
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
        ("Sealed", "Unsealed", "NotInitialized", "UnsealKeyMissing", "Unknown"),
    ),
    ConditionType(
        "OpenBaoLeader",
        "good",
        "Exactly one server leads.",
        ("LeaderFound", "MultipleLeaders", "LeaderUnknown", "NotInitialized", "SplitBrain"),
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
        "UserAccessBootstrap",
        "good",
        "People can log in after the first boot, as far as the requests show.",
        ("UserLoginFound", "RootTokenStored", "RecoveryKeysOnly", "NoUserLogin"),
    ),
    ConditionType(
        "OperatorLoginReady",
        "good",
        "The operator and its jobs can log in to OpenBao.",
        (
            "OperatorLoginTrusted",
            "RootTokenStored",
            "OperatorLoginOutdated",
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
            "RecoveryKeysNotRequested",
            "RecoveryKeysMissing",
            "OperatorLoginMissing",
            "OperatorLoginRefused",
            "ForeignObject",
            "NotInitialized",
            "Reconciling",
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
        "ImageVerified",
        "good",
        "The content that new pods run was proven by a signature.",
        (
            "ImageVerified",
            "ImageNotVerified",
            "ImageVerificationFailed",
            "ImageRegistryUnavailable",
            "Unknown",
        ),
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
        ),
    ),
)
