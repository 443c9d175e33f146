"""Validations of the Secrets and ConfigMaps that a spec names.

Uses contracts.admission.cel and contracts.naming.names. Collected by contracts.admission.clusters
and contracts.admission.backups_and_restores. The operator reads them with its own rights and
passes them to pods: a user who names one needs the verb get on it, or use without reading it.
"""

from dataclasses import dataclass
from typing import Final

from contracts.admission.cel import BEFORE, NOW, optional, text
from contracts.admission.policy import NamedExpression, Validation
from contracts.naming import names

AT_MOST: Final = 12
"""The number of names that are checked individually. An authorizer check costs 350,000 of the CEL
budget of 10,000,000 that a policy has for one request, and each name takes two checks."""

_TEST = "spec.backup.restoreTest"
_TEMPLATE = f"{_TEST}.clusterTemplate"
_IN_TEST = f"{optional(f'{_TEST}.namespace', '{spec}')}.orValue(request.namespace)"
_OWN_NAME = "object.metadata.?name.orValue('')"


@dataclass(frozen=True, slots=True)
class Reference:
    """A field that names a Secret: `field` is the path of a name, or of items with a name each.

    `namespace` is CEL with {spec}. `own` are the suffixes of this cluster's own Secrets, which are
    the defaults of the field.
    """

    field: str
    namespace: str = "request.namespace"
    own: tuple[str, ...] = ()

    def entries(self, spec: str) -> str:
        """Return CEL for the list of Secrets that the field names."""
        where = self.namespace.format(spec=spec)
        if self.field.endswith("[].name"):
            path = self.field.removesuffix("[].name")
            items, name = f"{optional(path, spec)}.orValue([])", "item.name"
            return f"{items}.map(item, {self._entry(f'{path}[].name', name, where)})"
        value = optional(self.field, spec)
        owned = "".join(f" && {value}.orValue('') != {_OWN_NAME} + {text(end)}" for end in self.own)
        entry = self._entry(self.field, f"{value}.orValue('')", where)
        return f"({value}.hasValue(){owned} ? [{entry}] : [])"

    @staticmethod
    def _entry(field: str, name: str, namespace: str) -> str:
        # string(), because CEL rejects a map whose values have different types.
        parts = (f"'name': string({name})", f"'namespace': string({namespace})")
        return f"{{'field': {text(field)}, {', '.join(parts)}}}"


_SERVER, _CA = (
    build("c").removeprefix("c") for build in (names.tls_server_secret, names.tls_ca_secret)
)
_MONITOR = "spec.observability.metrics.serviceMonitor"

REFERENCES: Final[tuple[Reference, ...]] = (
    # First the fields that may name another namespace: the right to read all Secrets of this
    # namespace does not include them, so they must be among the names that are checked
    # individually.
    Reference(f"{_TEST}.credentialsSecretRef.name", _IN_TEST),
    Reference(f"{_TEMPLATE}.unseal.credentialsSecretRef.name", _IN_TEST),
    Reference(f"{_TEMPLATE}.imagePullSecrets[].name", _IN_TEST),
    Reference("spec.unseal.credentialsSecretRef.name"),
    Reference("spec.tls.acme.caSecretRef.name"),
    Reference("spec.tls.external.serverSecretRef.name", own=(_SERVER,)),
    Reference("spec.tls.external.caSecretRef.name", own=(_CA,)),
    Reference("spec.ingress.tlsSecretName", own=(_SERVER,)),
    Reference("spec.backup.target.credentialsSecretRef.name"),
    Reference("spec.backup.tokenSecretRef.name"),
    Reference("spec.upgrade.tokenSecretRef.name"),
    Reference(f"{_MONITOR}.authorization.credentialsSecret.name"),
    Reference(f"{_MONITOR}.tlsConfig.caSecret.name"),
    Reference("spec.imagePullSecrets[].name"),
    Reference("spec.imageVerification.imagePullSecrets[].name"),
    Reference("spec.operatorImageVerification.imagePullSecrets[].name"),
)
"""Every field of a spec that names a Secret; a test compares it with the models."""

CONFIG_MAP: Final = f"{_MONITOR}.tlsConfig.caConfigMap.name"


RESTORE_REFERENCES: Final[tuple[Reference, ...]] = (
    Reference("spec.source.target.credentialsSecretRef.name"),
    Reference("spec.tokenSecretRef.name"),
    Reference("spec.clusterTemplate.unseal.credentialsSecretRef.name"),
    Reference("spec.clusterTemplate.imagePullSecrets[].name"),
)
"""The fields of an OpenBaoRestore that name a Secret."""
RESTORE_AT_MOST: Final = 5
"""The largest number of Secrets that a restore can name."""


def _all_entries(references: tuple[Reference, ...], spec: str) -> str:
    return " + ".join(reference.entries(spec) for reference in references)


def _may(resource: str, namespace: str, name: str = "") -> str:
    scope = f"authorizer.group('').resource('{resource}').namespace({namespace})"
    name_check = f".name({name})" if name else ""
    return " || ".join(f"{scope}{name_check}.check('{verb}').allowed()" for verb in ("get", "use"))


def secret_variables(references: tuple[Reference, ...]) -> tuple[NamedExpression, ...]:
    """Return variables: the Secrets that a request adds, and whether its user may read all."""
    return (
        NamedExpression("named", _all_entries(references, NOW)),
        NamedExpression("namedBefore", _all_entries(references, BEFORE)),
        NamedExpression(
            "brought", "variables.named.filter(entry, !(entry in variables.namedBefore))"
        ),
        NamedExpression("mayReadAll", _may("secrets", "request.namespace")),
    )


SECRET_VARIABLES: Final = secret_variables(REFERENCES)
_ADVICE = text("; ask an administrator for get or use on it, or name another")


def _position(position: int) -> Validation:
    entry = f"variables.brought[{position}]"
    all_of_them = f"({entry}.namespace == request.namespace && variables.mayReadAll)"
    may_use = _may("secrets", f"{entry}.namespace", f"{entry}.name")
    begin = text(": needs the verb get or use on Secret ")
    return Validation(
        rule_id=f"secret-{position}",
        expression=f"variables.brought.size() <= {position} || {all_of_them} || {may_use}",
        message="spec names a Secret on which the user has neither the verb get nor use",
        message_expression=(
            f"{entry}.field + {begin} + {entry}.name + {text(' in namespace ')} + "
            f"{entry}.namespace + {_ADVICE}"
        ),
    )


def _config_map() -> Validation:
    now, before = optional(CONFIG_MAP), optional(CONFIG_MAP, BEFORE)
    may_use = _may("configmaps", "request.namespace", f"{now}.orValue('')")
    begin = text(f"{CONFIG_MAP}: needs the verb get or use on ConfigMap ")
    return Validation(
        rule_id="config-map",
        field=CONFIG_MAP,
        expression=f"!{now}.hasValue() || {now} == {before} || {may_use}",
        message="needs the verb get or use on the ConfigMap",
        message_expression=f"{begin} + {now}.orValue('') + {_ADVICE}",
    )


SECRET_VALIDATIONS: Final[tuple[Validation, ...]] = (
    Validation(
        rule_id="secret-count",
        field="spec",
        expression=f"variables.brought.size() <= {AT_MOST} || variables.mayReadAll",
        message=(
            f"names more than {AT_MOST} new Secrets, more than one request can check; add them in "
            "several requests, or ask an administrator for get or use on secrets"
        ),
    ),
    *map(_position, range(AT_MOST)),
    _config_map(),
)
RESTORE_SECRETS: Final[tuple[Validation, ...]] = tuple(map(_position, range(RESTORE_AT_MOST)))
