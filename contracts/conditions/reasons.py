"""The reasons of conditions: those of the whole cluster, and all reasons in one table.

Uses contracts.conditions.reason and the tables of the features. Read by
contracts.conditions.catalogue, which lists the reasons of each condition type.
"""

from contracts.conditions.reason import NO_ACTION, Reason
from contracts.conditions.reasons_backup import BACKUP_REASONS
from contracts.conditions.reasons_networking import NETWORKING_REASONS
from contracts.conditions.reasons_upgrade import UPGRADE_REASONS
from contracts.conditions.reasons_workload import WORKLOAD_REASONS

_REASONS = (
    # --- healthy
    Reason("Ready", "The aspect that this condition covers matches the spec.", NO_ACTION),
    Reason("AllReplicasReady", "Every replica of the spec is ready.", NO_ACTION),
    Reason("AllVoters", "Every replica is a voter of the raft cluster.", NO_ACTION),
    Reason("AutopilotApplied", "The raft autopilot has the settings of the spec.", NO_ACTION),
    Reason("Initialized", "The cluster has been initialized.", NO_ACTION),
    Reason("LeaderFound", "Exactly one server reports that it is the active node.", NO_ACTION),
    Reason(
        "NoConflict", "No object of another owner has a name that the cluster needs.", NO_ACTION
    ),
    Reason("ProductionReady", "The operator knows of no blocker for production use.", NO_ACTION),
    Reason("Unsealed", "The servers are unsealed.", NO_ACTION),
    Reason("ImageVerified", "The image has a signature that satisfies the spec.", NO_ACTION),
    # --- in progress
    Reason(
        "Reconciling",
        "The operator is bringing the cluster to the desired state.",
        "Wait; status.operation shows the progress. If it takes more than ten minutes, read the "
        "other conditions.",
    ),
    Reason(
        "NotReady",
        "Some replicas are not ready.",
        "Wait; a server becomes ready within a minute of its start. If not, read the events and "
        "the log of its pod.",
    ),
    Reason(
        "NoReplicasReady",
        "No replica is ready.",
        "Wait; the first server becomes ready within a minute of its start. If not, read the "
        "events and log of its pod.",
    ),
    Reason(
        "FirstBoot",
        "The first server starts alone to initialize the cluster.",
        "Wait; initialization takes about ten seconds after the image pull. If it takes longer, "
        "read the log of the first pod.",
    ),
    Reason(
        "NotInitialized",
        "The cluster is not initialized yet.",
        "Wait; initialization takes about ten seconds after the image pull. If it takes longer, "
        "read the log of the first pod.",
    ),
    Reason(
        "RollingOut",
        "Pods are being replaced, one at a time.",
        "Wait; each pod takes about half a minute. RolloutStuck is reported after five minutes.",
    ),
    Reason(
        "Reloading",
        "Servers reload changed files, without a restart.",
        "Wait; the operator replaces a server that has not reloaded after five minutes.",
    ),
    Reason(
        "RolloutStuck",
        "A rollout has taken more than five minutes, and not all pods are ready.",
        "Read the message and the log of the pod that it names. The rollout continues when you "
        "correct the spec.",
    ),
    Reason(
        "LeaderUnknown",
        "No server reports that it is the active node.",
        "Wait; an election takes a few seconds. If it takes longer, check the pod network, and "
        "the logs for lost quorum.",
    ),
    Reason(
        "VotersMissing",
        "Some replicas are not voters of the raft cluster yet.",
        "Wait; a server becomes a voter about ten seconds after it has joined. If not, read its "
        "log.",
    ),
    Reason(
        "MembershipUnknown",
        "The operator could not read the raft membership.",
        "Wait; the operator retries within a minute. If it persists, check OperatorLoginReady and "
        "OpenBaoLeader.",
    ),
    Reason(
        "AnswerUnusable",
        "A server sent a response that exceeds a limit or is not a valid OpenBao response; the "
        "operator discarded it.",
        "Read the message, and check the image of the server whose address it names.",
    ),
    Reason(
        "AutopilotUnknown",
        "The operator has not read the settings of the raft autopilot from a leader yet.",
        "Wait; the operator reads them once a leader is known. If it persists, check "
        "OperatorLoginReady.",
    ),
    Reason(
        "AutopilotRefused",
        "OpenBao does not allow the operator to read or write the settings of the autopilot.",
        "Follow the message; the servers keep their current settings.",
    ),
    Reason(
        "Deleting",
        "The cluster is being deleted.",
        "Wait; pods terminate within two minutes. The message names the remaining objects.",
    ),
    Reason(
        "Unknown",
        "The operator could not read the state that determines this condition.",
        "Wait; the operator retries within a minute. If it persists, read the operator log for "
        "this cluster.",
    ),
    Reason(
        "RotatingUnsealKey",
        "The operator is rotating the unseal key of the servers, in several steps.",
        "Wait; each step replaces the pods once. If it persists, follow the message.",
    ),
    Reason(
        "WorkloadIdentityConfigured",
        "The servers authenticate to the key service with the identity of their ServiceAccount.",
        NO_ACTION,
    ),
    Reason(
        "CredentialsSecretConfigured",
        "The Secret contains the credentials for the key service.",
        NO_ACTION,
    ),
    Reason(
        "CredentialsSecretMissing",
        "The Secret with the credentials for the key service does not exist or is incomplete.",
        "Create or complete the Secret that the message names.",
    ),
    Reason(
        "AmbientIdentityAssumed",
        "The spec has no credentials for the key service; the operator assumes that the node "
        "provides an identity.",
        "Annotate the ServiceAccount, or name a Secret in spec.unseal.credentialsSecretRef.",
    ),
    Reason(
        "SecretAccessPending",
        "The provisioner has not granted access to the Secrets of this cluster yet.",
        "Wait a minute. If it persists, check the OpenBaoTenant of the namespace and the "
        "provisioner.",
    ),
    Reason(
        "TransientError",
        "A request to the API server or to a server failed; the operator retries it.",
        "Wait; the operator retries at least once a minute. If it persists, read the operator log "
        "for this cluster.",
    ),
    Reason(
        "ImageRegistryUnavailable",
        "The operator could not reach the registry of an image or of its signature.",
        "Wait; the operator retries. If it persists, check the registry and the network path from "
        "the operator to it.",
    ),
    # --- a user paused the cluster
    Reason(
        "Paused",
        "spec.paused is true: the operator changes nothing.",
        "Set spec.paused to false to resume.",
    ),
    # --- a user must act
    Reason(
        "InvalidSpec",
        "The spec violates a rule; nothing was changed.",
        "Correct the fields that the message names.",
    ),
    Reason(
        "UnsupportedFields",
        "The spec uses fields that this version of the operator accepts and ignores.",
        "Remove the fields that the message names, or upgrade the operator.",
    ),
    Reason(
        "SchemaOutdated",
        "The CustomResourceDefinitions on the API server lack fields of this operator.",
        "Apply install.yaml of the operator's release, or upgrade the chart with crds.enabled.",
    ),
    Reason(
        "ForeignObject",
        "An object with a name that the cluster needs has another owner.",
        "Delete the object, or let the operator adopt it with the annotation openbao.org/adopt.",
    ),
    Reason(
        "Rejected",
        "The API server rejects an object of the operator.",
        "Read the message: the spec changes an immutable field, or a policy forbids the object.",
    ),
    Reason(
        "PrerequisitesMissing",
        "An object that the cluster refers to does not exist, or is invalid.",
        "Create or correct the object that the message names.",
    ),
    Reason(
        "TLSSecretMissing",
        "The Secret with the server certificate does not exist.",
        "Wait until the operator writes it. If tls.mode is External, create it.",
    ),
    Reason(
        "TLSSecretInvalid",
        "The Secret with the server certificate cannot be used.",
        "Delete the Secret so that the operator issues a new one, or correct it.",
    ),
    Reason(
        "CertificateNotServed",
        "Some servers do not serve the newest certificate yet.",
        "Wait; the operator replaces a server that has not reloaded it within five minutes.",
    ),
    Reason(
        "ACMECacheInvalid",
        "The PVC that the servers share in mode ACME cannot be used.",
        "Read the message: it names the PVC and the requirement that it does not meet.",
    ),
    Reason(
        "AuditFileStorageInvalid",
        "The PVC for the files of audit devices cannot be used.",
        "Read the message: it names the PVC and the requirement that it does not meet.",
    ),
    Reason(
        "CASecretMissing",
        "The Secret with the CA certificate does not exist.",
        "Restore it from a backup; with a new CA, every client must trust a new certificate.",
    ),
    Reason(
        "UnsealKeyChanged",
        "The content of the Secret with the unseal key differs from the key of the servers.",
        "Restore the former content. To change the key, add the new key as a separate entry with "
        "its own ID.",
    ),
    Reason(
        "UnsealKeyRotationRefused",
        "The unseal key of the spec cannot be used; the servers keep their key.",
        "Follow the message, or revert spec.unseal.static.",
    ),
    Reason(
        "UnsealKeyMissing",
        "The cluster has data, and the Secret with the unseal key does not exist.",
        "Restore the Secret from a backup; a new key cannot unseal existing data.",
    ),
    Reason(
        "RootTokenMissing",
        "The Secret with the root token does not exist, and the operator needs it.",
        "Restore the Secret, or create it with a token that may write auth methods and policies.",
    ),
    Reason(
        "SelfInitFailed",
        "A self-init request failed, so the first server did not become usable.",
        "Read the log that the message names, correct the request, and delete the objects that "
        "the message names.",
    ),
    Reason(
        "ImageVersionMismatch",
        "The tag of spec.image differs from spec.version.",
        "Correct one of the two, or reference the image by its digest only.",
    ),
    Reason(
        "ImageVerificationFailed",
        "No signature of the image satisfies spec.imageVerification.",
        "Read the message: sign the image, correct the policy, or name a pull secret.",
    ),
    Reason(
        "DowngradeBlocked",
        "spec.version is older than the running version.",
        "Set spec.version to the running version or a newer one.",
    ),
    Reason(
        "SplitBrain",
        "Servers of this cluster report different cluster IDs.",
        "Stop all writes, find the server with the correct data, and get help before any change.",
    ),
    Reason(
        "MultipleLeaders",
        "More than one server reports that it is the active node.",
        "Wait a minute. If it persists, check the network between the pods.",
    ),
    Reason(
        "Sealed",
        "A server is sealed and serves no requests.",
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
        "The operator holds the private key of the CA.",
        "Use your own certificates with tls.mode External for production.",
    ),
    Reason(
        "StaticUnsealInUse",
        "The unseal key is in a Secret of the same Kubernetes cluster as the data.",
        "Use a seal with an external key service for production.",
    ),
    Reason(
        "RootTokenStored",
        "A root token is stored in a Secret.",
        "Once OperatorLoginReady is True, revoke the token and delete the Secret.",
    ),
    Reason(
        "AdmissionPoliciesMissing",
        "Admission policies of this operator are missing, or differ from those of its release.",
        "Apply the overlay of this release again; deploy/admission contains the policies.",
    ),
    # --- access of users
    Reason("OperatorLoginTrusted", "OpenBao trusts the operator's tokens.", NO_ACTION),
    Reason(
        "RecoveryKeysStored",
        "The encrypted recovery shares are in their Secret.",
        "Deliver the shares, let each recipient decrypt theirs, then delete the Secret.",
    ),
    Reason(
        "RecoveryKeysMissing",
        "The spec requests recovery keys, and the server has no shares to deliver.",
        "Generate recovery keys as an administrator: the operator creates them only at "
        "initialization.",
    ),
    Reason("UserLoginFound", "The self-init requests set up a login for users.", NO_ACTION),
    Reason(
        "RecoveryKeysOnly",
        "Users have no login other than the recovery keys.",
        "Keep the shares safe, or set up a login for users in spec.selfInit.requests.",
    ),
    Reason(
        "NoUserLogin",
        "Only the operator can log in after initialization.",
        "Add an auth method and a user or role to spec.selfInit.requests before the cluster is "
        "initialized.",
    ),
    Reason(
        "OperatorLoginMissing",
        "The operator has no login of its own.",
        "Set spec.selfInit.oidc.enabled before the cluster is initialized, or follow the message.",
    ),
    Reason(
        "OperatorLoginRefused",
        "OpenBao recognizes the operator but denies it a required request.",
        "Follow the message.",
    ),
    Reason(
        "OperatorLoginOutdated",
        "The API server signs tokens with keys that OpenBao does not trust.",
        "Write the new keys to auth/jwt-operator/config; docs/first-boot.md describes how.",
    ),
    Reason(
        "OIDCBootstrapConfigurationInvalid",
        "The spec configures a login for the operator that cannot work.",
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
