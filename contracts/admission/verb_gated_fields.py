"""Parts of a spec that only those may write who hold a verb for it.

Uses contracts.admission.cel. Collected by contracts.admission.clusters, and for restores by
contracts.admission.backups_and_restores. A user who may write
clusters may not therefore run own programs under the cluster's identity, take a cloud's identity,
choose trusted signatures, expose a cluster, or open a Hardened one to the internet: the verbs are
for the owners of these.
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
"""Labels and annotations by which a cloud knows a pod or a ServiceAccount."""


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb on openbaoclusters that no API request uses, and the ClusterRole that holds it."""

    name: str
    variable: str
    role: str
    why: str
    alias: str = ""

    def names(self) -> tuple[str, ...]:
        """The verb and its older name; either is enough."""
        return (self.name, self.alias) if self.alias else (self.name,)

    def allowed(self, cluster: str = "") -> str:
        """CEL for whether the user holds it: for the cluster of this name, which is CEL too, in the
        namespace of the request; for none, for the cluster that the request is about."""
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
"""Verbs that writers of clusters are asked for."""


@dataclass(frozen=True, slots=True)
class VerbGate:
    """A field that needs a verb when it is brought or changed.

    `when` is CEL with {spec} for when the field matters at all: one that did not matter before
    counts as brought. `keys` is a pattern for a map of which only some keys matter; `items` is CEL
    of an `item` for a list of which only some items matter, each for itself. `because` is for the
    refusal, where the field alone does not say what needs the verb.
    """

    field: str
    verb: Verb
    when: str = ""
    keys: str = ""
    items: str = ""
    because: str = ""

    def expression(self) -> str:
        """CEL that holds when nothing is added, or when the user may add it."""
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
    """A map of which every key matters, and an empty one not at all."""
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
    """What is asked about the template of a cluster."""
    return (
        VerbGate(f"{path}.plugins", CUSTOM_EXECUTABLES, _not(f"{path}.plugins", "[]")),
        _map(f"{path}.serviceAccount.annotations", CLOUD_IDENTITIES),
        _cloud(f"{path}.podMetadata.labels"),
        _cloud(f"{path}.podMetadata.annotations"),
    )


def _store(path: str) -> tuple[VerbGate, ...]:
    """What is asked about a store of snapshots.

    A store without a Secret is one for the identity of the pod, which is often that of the node.
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
    # As a whole: another host or path is another way in.
    VerbGate("spec.ingress", PUBLISH_NETWORKING, _not("spec.ingress.enabled", "false")),
    VerbGate("spec.gateway", PUBLISH_NETWORKING, _not("spec.gateway.enabled", "false")),
    VerbGate(
        "spec.network.ingressRules",
        PUBLISH_NETWORKING,
        _HARDENED,
        items="true",
        because="it opens ports in profile Hardened",
    ),
    # Other rules beside a wide one change without the verb.
    VerbGate(
        "spec.network.egressRules",
        WIDE_EGRESS,
        _HARDENED,
        items=_WIDE_RULE,
        because=f"a destination is a range wider than /{WIDE_PREFIX} in profile Hardened",
    ),
)
"""What needs a verb, in the order of api.md 7.4."""

RESTORE_GATES: Final[tuple[VerbGate, ...]] = (
    VerbGate("spec.image", CUSTOM_EXECUTABLES),
    *_store("spec.source.target"),
    *_template("spec.clusterTemplate"),
)
"""The same of an OpenBaoRestore; the verb is held for the cluster that it names."""
