"""The reasons that a condition may give: those of the whole cluster, and all of them as one table.

Uses contracts.conditions.reason and its tables of single features. Read by
contracts.conditions.catalogue, which says which condition may give which.
"""

from contracts.conditions.reason import NOTHING, WAIT, Reason
from contracts.conditions.reasons_backup import BACKUP_REASONS
from contracts.conditions.reasons_networking import NETWORKING_REASONS
from contracts.conditions.reasons_upgrade import UPGRADE_REASONS
from contracts.conditions.reasons_workload import WORKLOAD_REASONS

_REASONS = (
    # --- all is well
    Reason("Ready", "What this condition watches is as the spec asks.", NOTHING),
    Reason("AllReplicasReady", "Every replica that the spec asks for is ready.", NOTHING),
    Reason("AllVoters", "Every replica is a voter of the raft cluster.", NOTHING),
    Reason("AutopilotApplied", "The autopilot of raft is set as the spec asks.", NOTHING),
    Reason("Initialized", "The cluster has been initialized.", NOTHING),
    Reason("LeaderFound", "Exactly one server says that it leads.", NOTHING),
    Reason("NoConflict", "Every object of the cluster belongs to it.", NOTHING),
    Reason("ProductionReady", "No known reason speaks against production use.", NOTHING),
    Reason("Unsealed", "The servers are unsealed.", NOTHING),
    Reason("ImageVerified", "The image carries the signature that the spec asks for.", NOTHING),
    # --- on the way
    Reason("Reconciling", "The operator is changing the cluster to what the spec asks.", WAIT),
    Reason("NotReady", "Some replicas are ready and some are not.", WAIT),
    Reason("NoReplicasReady", "No replica is ready.", WAIT),
    Reason("FirstBoot", "The first server is starting alone to initialize the cluster.", WAIT),
    Reason("NotInitialized", "No server has been initialized yet.", WAIT),
    Reason("RollingOut", "Pods are being replaced one at a time.", WAIT),
    Reason(
        "Reloading",
        "Servers read changed files again, without a restart.",
        "Wait; a server that has not done so after five minutes is replaced.",
    ),
    Reason(
        "RolloutStuck",
        "Pods have been replaced for more than five minutes, and not all are back.",
        "Read the message and the log of the pod that it names; a corrected spec goes on at once.",
    ),
    Reason("LeaderUnknown", "No server says that it leads.", WAIT),
    Reason("VotersMissing", "Some replicas are not voters of the raft cluster yet.", WAIT),
    Reason("MembershipUnknown", "The raft membership could not be read.", WAIT),
    Reason(
        "AnswerUnusable",
        "A server gave an answer that breaks a bound or has another form than OpenBao's; it was "
        "not read.",
        "Read the message, and look at the image of the server whose address it names.",
    ),
    Reason("AutopilotUnknown", "No leader was asked for the settings of its autopilot.", WAIT),
    Reason(
        "AutopilotRefused",
        "The operator may not read or write the settings of the autopilot.",
        "Do what the message says; until then the servers keep the settings that they have.",
    ),
    Reason("Deleting", "The cluster is being deleted.", WAIT),
    Reason("Unknown", "The facts that would answer this could not be read.", WAIT),
    Reason(
        "RotatingUnsealKey",
        "The servers move to another unseal key, one step at a time.",
        "Wait; if it lasts, do what the message says.",
    ),
    Reason(
        "WorkloadIdentityConfigured",
        "The servers reach the key service with the identity of their ServiceAccount.",
        NOTHING,
    ),
    Reason("CredentialsSecretConfigured", "The credentials are in the Secret.", NOTHING),
    Reason(
        "CredentialsSecretMissing",
        "The Secret with the credentials for the key service does not exist or lacks something.",
        "Create or complete the Secret that the message names.",
    ),
    Reason(
        "AmbientIdentityAssumed",
        "Nothing says how the servers reach the key service; their node may have an identity.",
        "Annotate the ServiceAccount, or name a Secret in spec.unseal.credentialsSecretRef.",
    ),
    Reason(
        "SecretAccessPending",
        "The provisioner has not granted the operator the Secrets of this cluster yet.",
        "Wait; if it lasts, look at the OpenBaoTenant of the namespace and at the provisioner.",
    ),
    Reason(
        "TransientError",
        "A call to the API server or to a server failed and will be repeated.",
        "Wait; if it lasts, read the operator's log for this cluster.",
    ),
    Reason(
        "ImageRegistryUnavailable",
        "The registry that holds an image and its signature could not be asked.",
        "Wait; if it lasts, check the registry and the way of the operator to it.",
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
        "CertificateNotServed",
        "Not every server serves the newest certificate yet.",
        "Wait; a server that does not read it within five minutes is replaced.",
    ),
    Reason(
        "ACMECacheInvalid",
        "The volume that servers share in mode ACME cannot be used.",
        "Read the message: it names the claim and what it needs.",
    ),
    Reason(
        "AuditFileStorageInvalid",
        "The volume for the files of audit devices cannot be used.",
        "Read the message: it names the claim and what it needs.",
    ),
    Reason(
        "CASecretMissing",
        "The Secret with the certificate authority does not exist.",
        "Restore it from a backup; a new authority makes every client trust a new one.",
    ),
    Reason(
        "UnsealKeyChanged",
        "The Secret with the unseal key holds other bytes than the servers know.",
        "Put the former bytes back; another key goes beside them, with an id of its own.",
    ),
    Reason(
        "UnsealKeyRotationRefused",
        "The unseal key that the spec asks for cannot be taken; the servers keep theirs.",
        "Do what the message says, or set spec.unseal.static back.",
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
        "Read the log that the message names, correct the request, and delete what it says.",
    ),
    Reason(
        "ImageVersionMismatch",
        "The tag of spec.image is not the one of spec.version.",
        "Correct one of the two, or name the image by its digest alone.",
    ),
    Reason(
        "ImageVerificationFailed",
        "Nothing proves that the image was signed as spec.imageVerification asks.",
        "Read the message: sign the image, correct the policy, or name a pull secret.",
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
    Reason(
        "AdmissionPoliciesMissing",
        "Admission policies that belong to this operator are missing, or are not as it knows them.",
        "Apply the overlay of this release again; deploy/admission holds the policies.",
    ),
    # --- who can get in
    Reason("OperatorLoginTrusted", "OpenBao trusts the operator's tokens.", NOTHING),
    Reason(
        "RecoveryKeysStored",
        "The encrypted recovery shares are in their Secret.",
        "Hand the shares out, let the recipients try to open them, then delete the Secret.",
    ),
    Reason(
        "RecoveryKeysMissing",
        "The spec asks for recovery keys, and the server has no shares to hand out.",
        "Let an administrator make recovery keys: the first boot alone makes them by itself.",
    ),
    Reason("UserLoginFound", "The first boot sets up a login for people.", NOTHING),
    Reason(
        "RecoveryKeysOnly",
        "People have no login but the recovery keys.",
        "Keep the shares safe, or give people a login with a request of the first boot.",
    ),
    Reason(
        "NoUserLogin",
        "Nobody but the operator can log in after the first boot.",
        "Add an auth method and a user or role to spec.selfInit.requests before the first boot.",
    ),
    Reason(
        "OperatorLoginMissing",
        "The operator has no login of its own.",
        "Set spec.selfInit.oidc.enabled before the first boot, or do what the message says.",
    ),
    Reason(
        "OperatorLoginRefused",
        "OpenBao knows the operator and does not let it do what it has to.",
        "Do what the message says.",
    ),
    Reason(
        "OperatorLoginOutdated",
        "The API server signs tokens with keys that OpenBao does not trust.",
        "Write the new keys to auth/jwt-operator/config; docs/first-boot.md says how.",
    ),
    Reason(
        "OIDCBootstrapConfigurationInvalid",
        "The login of the operator could never work as the spec describes it.",
        "Correct the field that the message names.",
    ),
)

REASONS: dict[str, Reason] = {
    reason.name: reason
    for reason in (
        *_REASONS,
        *NETWORKING_REASONS,
        *WORKLOAD_REASONS,
        *BACKUP_REASONS,
        *UPGRADE_REASONS,
    )
}
