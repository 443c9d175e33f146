"""The reasons of conditions: those of the whole cluster, and all reasons in one table.

Uses contracts.conditions.reason and the tables of the features. Read by
contracts.conditions.catalog, which lists the reasons of each condition type.
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
        "Wait; a server becomes ready within a minute of its start. If not, read the events of "
        "the pods and of their PVCs.",
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
        "Wait; initialization takes about ten seconds after the image pull. If not, read the "
        "events and log of the first pod.",
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
        "Read `kubectl logs <pod> --previous` of the pod in the message. The rollout continues "
        "when you correct the spec.",
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
        "Wait; the operator retries within a minute. If the reason remains, check "
        "OperatorLoginReady and OpenBaoLeader.",
    ),
    Reason(
        "AnswerUnusable",
        "A server sent a response that exceeds a limit or is not a valid OpenBao response; the "
        "operator discarded it.",
        "Find the pod of the address in the message (`kubectl get pods -o wide`); check its "
        "image and any proxy before it.",
    ),
    Reason(
        "AutopilotUnknown",
        "The operator has not read the settings of the raft autopilot from a leader yet.",
        "Wait; the operator reads them once there is a leader. If not, check OpenBaoLeader and "
        "OperatorLoginReady.",
    ),
    Reason(
        "AutopilotRefused",
        "The operator may not read or write the settings of the raft autopilot; the servers keep "
        "theirs.",
        "Grant the operator the request that the message names. The operator retries within ten "
        "minutes.",
    ),
    Reason(
        "Deleting",
        "The cluster is being deleted.",
        "Wait; pods terminate within two minutes. The message names the remaining objects.",
    ),
    Reason(
        "Unknown",
        "The operator could not read the state that determines this condition.",
        "Wait; the operator retries within a minute. If the reason remains, search the operator "
        "log for the name of this cluster.",
    ),
    Reason(
        "RotatingUnsealKey",
        "The operator is rotating the unseal key of the servers, in several steps.",
        "Wait; each step takes about half a minute per pod. If a step takes more than ten "
        "minutes, read the message.",
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
        "Wait; it takes up to a minute. If not, read the OpenBaoTenant of the namespace and the "
        "log of the provisioner.",
    ),
    Reason(
        "TransientError",
        "A request to the API server or to a server failed.",
        "Wait; the operator retries within a minute. If it persists, search the operator log for "
        "the name of this cluster.",
    ),
    Reason(
        "ImageRegistryUnavailable",
        "The operator could not reach the registry of an image or of its signature.",
        "Wait; the operator retries every 15 seconds. If the reason remains, check its DNS, proxy "
        "and NetworkPolicies.",
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
        "The spec violates a rule, so the operator did not apply it.",
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
        "Delete the object, or let the operator adopt it with the annotation "
        "`openbao.org/adopt=<cluster>`.",
    ),
    Reason(
        "Rejected",
        "The API server rejects an object of the operator.",
        "Change the quota, admission policy or field that rejects the object: the message has "
        "the error of the API server.",
    ),
    Reason(
        "PrerequisitesMissing",
        "An object that the cluster refers to does not exist, or is invalid.",
        "Create or correct the object that the message names.",
    ),
    Reason(
        "TLSSecretMissing",
        "The Secret with the server certificate does not exist.",
        "In mode External, create the Secret. In mode OperatorManaged, wait; the operator writes "
        "it within seconds.",
    ),
    Reason(
        "TLSSecretInvalid",
        "The Secret with the server certificate cannot be used.",
        "In mode External, correct the entry that the message names. In mode OperatorManaged, "
        "restore or delete the Secret.",
    ),
    Reason(
        "CertificateNotServed",
        "Some servers do not serve the newest certificate yet.",
        "Wait; the operator replaces a server that has not reloaded it within five minutes.",
    ),
    Reason(
        "ACMECacheInvalid",
        "The PVC that the servers share in mode ACME cannot be used.",
        "Name a PVC of access mode ReadWriteMany in spec.tls.acme.sharedCache; `kubectl get pvc` "
        "shows the modes.",
    ),
    Reason(
        "AuditFileStorageInvalid",
        "The PVC for the files of audit devices cannot be used.",
        "Name a PVC of access mode ReadWriteMany in spec.auditFileStorage; `kubectl get pvc` "
        "shows the modes.",
    ),
    Reason(
        "CASecretMissing",
        "The Secret with the CA certificate does not exist; the servers still use a certificate "
        "of this CA.",
        "Restore the Secret from a backup. If there is none, delete the server Secret too; "
        "clients must trust a new CA.",
    ),
    Reason(
        "UnsealKeyChanged",
        "The content of the Secret with the unseal key differs from the key of the servers.",
        "Restore the former content before a server restarts. To change the key, add an entry "
        "with a new ID instead.",
    ),
    Reason(
        "UnsealKeyRotationRefused",
        "The unseal key of the spec cannot be used; the servers keep their key.",
        "Set spec.unseal.static to an unused key ID and 32 new random bytes, or restore its "
        "former values.",
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
        "Correct the request that `kubectl logs <pod> --previous` shows, then delete PVC and pod "
        "(docs/first-boot.md).",
    ),
    Reason(
        "ImageVersionMismatch",
        "The tag of spec.image differs from spec.version.",
        "Correct one of the two, or reference the image by its digest only.",
    ),
    Reason(
        "ImageVerificationFailed",
        "No signature of the image satisfies spec.imageVerification.",
        "Sign the image, correct spec.imageVerification, or add a pull secret; the message names "
        "the cause.",
    ),
    Reason(
        "DowngradeBlocked",
        "spec.version is older than the running version.",
        "Set spec.version to the running version or a newer one.",
    ),
    Reason(
        "SplitBrain",
        "Servers of this cluster report different cluster IDs.",
        "Stop all clients, pause the cluster and copy all volumes before you decide which servers "
        "have the correct data.",
    ),
    Reason(
        "MultipleLeaders",
        "More than one server reports that it is the active node.",
        "Wait; a former leader steps down within a minute. If not, check the network between the "
        "nodes of the servers.",
    ),
    Reason(
        "Sealed",
        "A server is sealed and serves no requests.",
        "Wait; a server unseals within a minute of its start. If not, read its log: it contains "
        "the error of the seal.",
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
        "Before initialization, set spec.selfInit.oidc.enabled. After it, see "
        "docs/first-boot.md, Rejected logins.",
    ),
    Reason(
        "OperatorLoginRefused",
        "OpenBao rejects the login of the operator, or a request that it needs.",
        "Correct the role or policy that the message names. Backups, upgrades and scale-downs "
        "wait; the servers keep running.",
    ),
    Reason(
        "OperatorLoginOutdated",
        "The API server signs tokens with keys that OpenBao does not trust.",
        "As an administrator, write the new keys to auth/jwt-operator/config; docs/first-boot.md "
        "describes how.",
    ),
    Reason(
        "OIDCBootstrapConfigurationInvalid",
        "The spec configures a login for the operator that cannot work.",
        "Remove spec.selfInit.oidc.audience, or let the API server sign its ServiceAccount "
        "tokens with RSA or ECDSA.",
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
