"""Fields of a spec that require a delegated verb.

Uses contracts.admission.cel. Collected by contracts.admission.clusters, and for restores by
contracts.admission.backups_and_restores. The permission to write clusters does not include running
custom programs under the cluster's identity, using a cloud identity, choosing trusted signers,
exposing a cluster, or opening a Hardened cluster to the internet: an administrator grants each of
these by a verb.
"""

from dataclasses import dataclass
from typing import Final

from contracts.admission.cel import BEFORE, NOW, optional
from contracts.api.cluster.network import WIDE_PREFIX, cel_of_wide
from contracts.api.group import CLUSTERS, GROUP

CLOUD_KEYS: Final = (
    r"^(iam\.gke\.io|cloud\.google\.com|eks\.amazonaws\.com|iam\.amazonaws\.com|sts\.amazonaws\.com"
    r"|azure\.workload\.identity|pod-identity\.alibabacloud\.com)/|^aadpodidbinding$"
)
"""Labels and annotations by which a cloud identifies a pod or a ServiceAccount."""


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb on openbaoclusters that only policies check, and the ClusterRole that grants it."""

    name: str
    variable: str
    role: str
    why: str
    alias: str = ""

    def names(self) -> tuple[str, ...]:
        """Return the verb and its older name; either is sufficient."""
        return (self.name, self.alias) if self.alias else (self.name,)

    def allowed(self, cluster: str = "") -> str:
        """Return CEL: the user holds the verb. `cluster` is CEL for the name of a cluster in the
        namespace of the request; empty for the object of the request."""
        resource = "authorizer.requestResource"
        if cluster:
            resource = (
                f"authorizer.group('{GROUP}').resource('{CLUSTERS.plural}')"
                f".namespace(request.namespace).name({cluster})"
            )
        return " || ".join(f"{resource}.check('{name}').allowed()" for name in self.names())


CUSTOM_EXECUTABLES = Verb(
    "usecustomexecutables",
    "mayUseCustomExecutables",
    "use-custom-executables",
    "Programs that run with the identity and the keys of a cluster.",
    alias="usehelperimages",
)
IMAGE_TRUST_ROOTS = Verb(
    "useimagetrustroots",
    "mayUseImageTrustRoots",
    "use-image-trust-roots",
    "Signers that profile Hardened accepts.",
)
CLOUD_IDENTITIES = Verb(
    "usecloudidentities",
    "mayUseCloudIdentities",
    "use-cloud-identities",
    "Metadata that gives a pod a cloud identity.",
)
PUBLISH_NETWORKING = Verb(
    "publishnetworking",
    "mayPublishNetworking",
    "publish-networking",
    "Access from outside of the Kubernetes cluster.",
)
WIDE_EGRESS = Verb(
    "usewideegress",
    "mayUseWideEgress",
    "use-wide-egress",
    "Let clusters of profile Hardened connect to whole ranges of the internet.",
)
RESTORE = Verb(
    "restore",
    "mayRestore",
    "restore",
    "Restores, which replace the whole content of a cluster.",
)
VERBS: Final = (
    CUSTOM_EXECUTABLES,
    IMAGE_TRUST_ROOTS,
    CLOUD_IDENTITIES,
    PUBLISH_NETWORKING,
    WIDE_EGRESS,
)
"""Verbs that the policy about clusters checks."""


@dataclass(frozen=True, slots=True)
class VerbGate:
    """A field that needs a verb when it is added or changed.

    `when` is CEL with {spec} that is true if the field has an effect; a field that had no effect
    before counts as added. `keys` is a pattern that selects the keys of a map, and `items` is CEL
    about an `item` that selects the items of a list; each item is compared separately. `because` is
    for the message, where the field alone does not explain what needs the verb.
    """

    field: str
    verb: Verb
    when: str = ""
    keys: str = ""
    items: str = ""
    because: str = ""

    def expression(self) -> str:
        """Return CEL: the request adds nothing, or the user may add it."""
        return f"{self._leaves_alone()} || variables.{self.verb.variable}"

    def _leaves_alone(self) -> str:
        now, before = optional(self.field), optional(self.field, BEFORE)
        if self.keys:
            same = f"key in {before}.orValue({{}}) && {before}[?key] == {now}[?key]"
            return f"{now}.orValue({{}}).all(key, !key.matches(r'{self.keys}') || ({same}))"
        absent = f"!{now}.hasValue()"
        if not self.when:
            return f"{absent} || {now} == {before}"
        matters, mattered = self.when.format(spec=NOW), self.when.format(spec=BEFORE)
        if self.items:
            same = f"({mattered}) && item in {before}.orValue([])"
            return f"!({matters}) || {now}.orValue([]).all(item, !({self.items}) || ({same}))"
        return f"!({matters}) || {absent} || (({mattered}) && {now} == {before})"


def _map(field: str, verb: Verb) -> VerbGate:
    """Return the gate of a map in which every key needs the verb; an empty map needs none."""
    return VerbGate(field, verb, keys=".")


def _cloud(field: str) -> VerbGate:
    return VerbGate(field, CLOUD_IDENTITIES, keys=CLOUD_KEYS)


def _not(field: str, default: str) -> str:
    return f"{optional(field, '{spec}')}.orValue({default}) != {default}"


_HARDENED = "{spec}.?profile.orValue('') == 'Hardened'"
_WIDE_RULE = (
    f"item.?to.orValue([]).exists(peer, has(peer.ipBlock) && {cel_of_wide('peer.ipBlock.cidr')})"
)


def _trust(block: str) -> tuple[VerbGate, ...]:
    named = ("publicKey", "issuer", "subject", "issuerRegExp", "subjectRegExp")
    lax = f"{_HARDENED} && {_not(f'spec.{block}.ignoreTlog', 'false')}"
    return (
        *(VerbGate(f"spec.{block}.{name}", IMAGE_TRUST_ROOTS, _HARDENED) for name in named),
        VerbGate(f"spec.{block}.ignoreTlog", IMAGE_TRUST_ROOTS, lax),
    )


def _template(path: str) -> tuple[VerbGate, ...]:
    """Return the gates of the template of a cluster."""
    return (
        VerbGate(f"{path}.plugins", CUSTOM_EXECUTABLES, _not(f"{path}.plugins", "[]")),
        _map(f"{path}.serviceAccount.annotations", CLOUD_IDENTITIES),
        _cloud(f"{path}.podMetadata.labels"),
        _cloud(f"{path}.podMetadata.annotations"),
    )


def _store(path: str) -> tuple[VerbGate, ...]:
    """Return the gates of a snapshot store.

    A Job logs in to a store without a Secret with the identity of its pod, which is often that of
    the node.
    """
    secret, provider = f"{path}.credentialsSecretRef", f"{path}.provider"
    no_secret = f"!{optional(secret, '{spec}')}.hasValue()"
    in_network = f"{optional(provider, '{spec}')}.orValue('s3') != 'pvc'"
    return (
        VerbGate(path, CLOUD_IDENTITIES, f"{no_secret} && {in_network}"),
        VerbGate(f"{path}.roleArn", CLOUD_IDENTITIES),
        _map(f"{path}.workloadIdentity.serviceAccountAnnotations", CLOUD_IDENTITIES),
        _map(f"{path}.workloadIdentity.podLabels", CLOUD_IDENTITIES),
    )


_READ = "spec.readReplicas"

GATES: Final[tuple[VerbGate, ...]] = (
    VerbGate("spec.backup.image", CUSTOM_EXECUTABLES),
    VerbGate("spec.upgrade.image", CUSTOM_EXECUTABLES),
    VerbGate("spec.upgrade.blueGreen.verification.prePromotionHook", CUSTOM_EXECUTABLES),
    VerbGate("spec.plugins", CUSTOM_EXECUTABLES, _not("spec.plugins", "[]")),
    *_template("spec.backup.restoreTest.clusterTemplate"),
    *_trust("imageVerification"),
    *_trust("operatorImageVerification"),
    _map("spec.serviceAccount.annotations", CLOUD_IDENTITIES),
    _cloud("spec.podMetadata.labels"),
    _cloud("spec.podMetadata.annotations"),
    _cloud(f"{_READ}.template.metadata.labels"),
    _cloud(f"{_READ}.template.metadata.annotations"),
    *_store("spec.backup.target"),
    VerbGate("spec.service.type", PUBLISH_NETWORKING, _not("spec.service.type", "'ClusterIP'")),
    _map("spec.service.annotations", PUBLISH_NETWORKING),
    VerbGate(
        f"{_READ}.service.type", PUBLISH_NETWORKING, _not(f"{_READ}.service.type", "'ClusterIP'")
    ),
    _map(f"{_READ}.service.annotations", PUBLISH_NETWORKING),
    # The whole field: another host or path exposes the cluster too.
    VerbGate("spec.ingress", PUBLISH_NETWORKING, _not("spec.ingress.enabled", "false")),
    VerbGate("spec.gateway", PUBLISH_NETWORKING, _not("spec.gateway.enabled", "false")),
    VerbGate(
        "spec.network.ingressRules",
        PUBLISH_NETWORKING,
        _HARDENED,
        items="true",
        because="it opens ports in profile Hardened",
    ),
    # Narrower rules in the same list can change without the verb.
    VerbGate(
        "spec.network.egressRules",
        WIDE_EGRESS,
        _HARDENED,
        items=_WIDE_RULE,
        because=f"a destination is a range wider than /{WIDE_PREFIX} in profile Hardened",
    ),
)
"""The fields that need a verb; docs/admission.md lists them in this order."""

RESTORE_GATES: Final[tuple[VerbGate, ...]] = (
    VerbGate("spec.image", CUSTOM_EXECUTABLES),
    *_store("spec.source.target"),
    *_template("spec.clusterTemplate"),
)
"""The fields of an OpenBaoRestore; the verb is checked for the cluster that the restore names."""
