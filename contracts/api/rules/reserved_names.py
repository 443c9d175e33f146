"""Rules about names reserved for the operator: metadata, variables of the server, Secrets.

Uses contracts.naming and the API models. Collected by contracts.api.rules.cluster. The operator
trusts its labels on any object, so a user must not set them. A user who may write a spec may not
read every Secret: a reference to the unseal key, the root token or a certificate authority would
copy it into a pod, a request or an object store. The rules for TLS and image verification are in
their own modules.
"""

from collections.abc import Iterator
from typing import Any

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.rules.checks import it
from contracts.api.rules.combinators import invalid_fields, rule
from contracts.api.rules.rule import FORBIDDEN, InvalidField, Old, Rule, RuleOf
from contracts.api.values.pattern import Pattern
from contracts.naming import labels, names

_BEGINNINGS = "|".join(labels.RESERVED).replace(".", r"\.")
RESERVED_KEY = Pattern(f"^({_BEGINNINGS})")
_FAMILIES = ("LD_", "BAO_", "VAULT_", "KUBERNETES_", "PYTHON")
_VARIABLES = ("GODEBUG", "GOTRACEBACK", "HOME", "PATH")
_BEGINNINGS_OF_VARIABLES = (*_FAMILIES, *(f"{name}=" for name in _VARIABLES))
RESERVED_VARIABLE = Pattern(f"^({'|'.join(_FAMILIES)}|({'|'.join(_VARIABLES)})$)")
"""Variables that load code into a process, or that the server and Kubernetes read."""
CLOUD_VARIABLE = Pattern(r"^(AWS_|AZURE_|GOOGLE_)")
"""Variables that set the cloud identity of a process."""

METADATA = (
    "spec.podMetadata.labels",
    "spec.podMetadata.annotations",
    "spec.readReplicas.template.metadata.labels",
    "spec.readReplicas.template.metadata.annotations",
    "spec.readReplicas.service.annotations",
    "spec.serviceAccount.annotations",
    "spec.service.annotations",
    "spec.ingress.annotations",
    "spec.gateway.annotations",
    "spec.observability.metrics.serviceMonitor.labels",
    "spec.observability.metrics.serviceMonitor.annotations",
    "spec.backup.target.workloadIdentity.serviceAccountAnnotations",
    "spec.backup.target.workloadIdentity.podLabels",
)
"""Maps of a spec that the operator copies to labels or annotations of its objects."""


def _metadata_rule(path: str) -> Rule:
    return RuleOf(
        f"reserved-{path.removeprefix('spec.')}",
        path,
        path,
        "must not have keys that start with openbao.org/ or openbao-, which are reserved for the "
        "operator and the servers; remove them",
        invalid_fields(
            path, lambda keys: (("", key) for key in keys if RESERVED_KEY.found_in(key))
        ),
        cel=f"self.all(key, !{RESERVED_KEY.cel('key')})",
        got=f"self.filter(key, {RESERVED_KEY.cel('key')})[0]",
        reason=FORBIDDEN,
    )


def _reserved_variable(variable: str) -> str | None:
    name = variable.partition("=")[0]
    return name if RESERVED_VARIABLE.found_in(name) else None


RESERVED_RULES: tuple[Rule, ...] = (
    *map(_metadata_rule, METADATA),
    rule(
        "plugin-variable",
        "spec.plugins[].env[]",
        "",
        "must not set variables that start with LD_, BAO_, VAULT_, KUBERNETES_ or PYTHON, nor "
        "HOME, PATH, GODEBUG or GOTRACEBACK: they can load other code, or are reserved for the "
        "server; remove it",
        _reserved_variable,
        # Not by a pattern: the API server's cost estimate includes the length of the value.
        cel=" && ".join(f"!self.startsWith('{name}')" for name in _BEGINNINGS_OF_VARIABLES),
        reason=FORBIDDEN,
    ),
)

# --- Secrets ------------------------------------------------------------------------------------

SYSTEM_NAME = Pattern(f"({'|'.join(names.SYSTEM_SECRET_SUFFIXES)})$")
_SUFFIXES = ", ".join(names.SYSTEM_SECRET_SUFFIXES)
SYSTEM_SECRET_MESSAGE = (
    f"must not name a Secret of the operator ({_SUFFIXES}); copy the required keys to your own "
    "Secret"
)
_MONITOR = "spec.observability.metrics.serviceMonitor"
_TEMPLATE = "spec.backup.restoreTest.clusterTemplate"
REFERENCES = (
    "spec.imagePullSecrets[]",
    "spec.backup.target.credentialsSecretRef",
    "spec.backup.tokenSecretRef",
    "spec.backup.restoreTest.credentialsSecretRef",
    f"{_TEMPLATE}.imagePullSecrets[]",
    f"{_TEMPLATE}.unseal.credentialsSecretRef",
    "spec.upgrade.tokenSecretRef",
    f"{_MONITOR}.authorization.credentialsSecret",
    f"{_MONITOR}.tlsConfig.caSecret",
)
"""References to Secrets whose rules are in this module."""


def no_system_secret(id: str, at: str, message: str = SYSTEM_SECRET_MESSAGE) -> RuleOf[Any]:
    """Return the rule that a reference names no Secret of the operator."""
    name = it("name")
    return rule(id, at, "name", message, ~name.matches(SYSTEM_NAME), got=name, reason=FORBIDDEN)


_INGRESS_NAME = "self.spec.ingress.tlsSecretName"


def _ingress_secret(new: OpenBaoCluster, old: Old) -> Iterator[InvalidField]:
    ingress, own = new.spec.ingress, f"{new.metadata.name}-tls-server"
    name = ingress.tls_secret_name if ingress else None
    if name and SYSTEM_NAME.found_in(name) and name != own:
        yield "spec.ingress.tlsSecretName", name


SECRET_RULES: tuple[Rule, ...] = (
    *(no_system_secret(f"secret-{path.removeprefix('spec.')}", path) for path in REFERENCES),
    RuleOf(
        "secret-ingress",
        "",
        "spec.ingress.tlsSecretName",
        f"spec.ingress.tlsSecretName must not name a Secret of the operator ({_SUFFIXES}), except "
        "<name>-tls-server of this cluster; use your own Secret",
        _ingress_secret,
        cel=(
            f"!(has(self.spec.ingress) && has({_INGRESS_NAME})) || "
            f"!{SYSTEM_NAME.cel(_INGRESS_NAME)} || "
            f"{_INGRESS_NAME} == self.metadata.name + '-tls-server'"
        ),
        got=_INGRESS_NAME,
        reason=FORBIDDEN,
    ),
)
