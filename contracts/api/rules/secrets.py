"""Rules that keep references to Secrets away from the operator's own.

Uses contracts.naming.names, contracts.api.values.field_path and the API models. Collected by
contracts.api.rules.cluster. A user who may write a spec may not read every Secret: a reference that
names the unseal key, the root token or a certificate authority would carry it into a pod, a request
or an object store. The blocks of TLS and image verification have such rules in their own modules.
"""

from collections.abc import Iterator

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.rules.rule import Broken, Offence, Rule
from contracts.api.values.field_path import values_at
from contracts.api.values.pattern import Pattern
from contracts.naming import names

Old = OpenBaoCluster | None

SYSTEM_NAME = Pattern(f"({'|'.join(names.SYSTEM_SECRET_SUFFIXES)})$")
_SUFFIXES = ", ".join(names.SYSTEM_SECRET_SUFFIXES)
SYSTEM_SECRET_MESSAGE = (
    f"must not name a Secret of the operator ({_SUFFIXES}); copy what is needed to a Secret of "
    "your own"
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
"""References to Secrets that have their rule here."""


def _names_system_secret(path: str) -> Broken:
    def broken(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
        for field, reference in values_at(new.spec, path.removeprefix("spec.")):
            if reference is not None and SYSTEM_NAME.found_in(reference.name):
                yield f"spec.{field}.name", reference.name

    return broken


def _ingress_secret(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    ingress, own = new.spec.ingress, f"{new.metadata.name}-tls-server"
    name = ingress.tls_secret_name if ingress else None
    if name and SYSTEM_NAME.found_in(name) and name != own:
        yield "spec.ingress.tlsSecretName", name


def _rule(path: str) -> Rule:
    return Rule(
        id=f"secret-{path.removeprefix('spec.')}",
        at=path,
        field=f"{path}.name",
        message=SYSTEM_SECRET_MESSAGE,
        broken=_names_system_secret(path),
        cel=f"!{SYSTEM_NAME.cel('self.name')}",
        got="self.name",
        reason="FieldValueForbidden",
    )


_HAS_NAME = "has(self.spec.ingress) && has(self.spec.ingress.tlsSecretName)"
_INGRESS_NAME = "self.spec.ingress.tlsSecretName"

SECRET_RULES: tuple[Rule, ...] = (
    *map(_rule, REFERENCES),
    Rule(
        id="secret-ingress",
        at="",
        field="spec.ingress.tlsSecretName",
        message=(
            f"spec.ingress.tlsSecretName must not name a Secret of the operator ({_SUFFIXES}) but "
            "<name>-tls-server of this cluster; name a Secret of your own"
        ),
        broken=_ingress_secret,
        cel=(
            f"!({_HAS_NAME}) || !{SYSTEM_NAME.cel(_INGRESS_NAME)} || "
            f"{_INGRESS_NAME} == self.metadata.name + '-tls-server'"
        ),
        got=_INGRESS_NAME,
        reason="FieldValueForbidden",
    ),
)
