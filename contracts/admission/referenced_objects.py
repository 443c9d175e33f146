"""Objects that a spec names and that its writer must be allowed to use.

Uses contracts.admission.cel and contracts.naming.names. Collected by contracts.admission.clusters.
The operator acts with its own rights: without this check, a user could use any object by naming it.
"""

from dataclasses import dataclass
from typing import Final

from contracts.admission.cel import BEFORE, optional, text
from contracts.admission.policy import Validation
from contracts.api.group import CLUSTERS, GROUP
from contracts.naming.names import service_account

_OWN_ACCOUNT = service_account("c").removeprefix("c")
_TEST = "spec.backup.restoreTest"
_IN_TEST = f"{_TEST}.namespace"


@dataclass(frozen=True, slots=True)
class Use:
    """A field that names an object of another kind.

    `namespace_field` names its namespace: empty for the namespace of the cluster, None for a kind
    without namespaces. `inside` is the path from the field to the name. `default` is CEL for the
    name that the operator uses if the field is not set.
    """

    field: str
    group: str
    resource: str
    namespace_field: str | None = ""
    inside: str = ""
    default: str = ""

    def expression(self) -> str:
        """Return CEL: the field names no new object, or one that the user may use."""
        name = self._name()
        fields = filter(None, (self.field, self.namespace_field))
        same = " && ".join(f"{optional(field)} == {optional(field, BEFORE)}" for field in fields)
        parts = [f"!{name}.hasValue()", f"({same})"]
        if self.default:
            parts.append(f"{name}.orValue('') == {self.default}")
        return " || ".join((*parts, self._may_use()))

    def message_expression(self) -> str:
        """Return CEL for the message to a user without the verb use."""
        namespace = self._namespace()
        where = f" + {text(' in namespace ')} + {namespace}" if namespace else ""
        begin = text(f"{self.field}: needs the verb use on {self.resource} ")
        end = text("; ask an administrator for it, or remove the field")
        return f"{begin} + {self._name()}.orValue(''){where} + {end}"

    def message(self) -> str:
        """Return the message without the object's name."""
        return f"needs the verb use on {self.resource}; ask an administrator, or remove the field"

    def _name(self) -> str:
        return optional(".".join(filter(None, (self.field, self.inside))))

    def _namespace(self) -> str:
        if self.namespace_field is None:
            return ""
        own = "request.namespace"
        return f"{optional(self.namespace_field)}.orValue({own})" if self.namespace_field else own

    def _may_use(self) -> str:
        namespace = self._namespace()
        where = f".namespace({namespace})" if namespace else ""
        return (
            f"authorizer.group({text(self.group)}).resource({text(self.resource)}){where}"
            f".name({self._name()}.orValue('')).check('use').allowed()"
        )


def _class(field: str) -> Use:
    return Use(f"spec.{field}.storageClassName", "storage.k8s.io", "storageclasses", None)


def _claim(field: str, name: str = "existingClaimName") -> Use:
    return Use(f"spec.{field}.{name}", "", "persistentvolumeclaims")


_TEMPLATE = f"{_TEST}.clusterTemplate"
GATEWAY = "spec.gateway.gatewayRef"

USES: Final[tuple[Use, ...]] = (
    Use(
        "spec.serviceAccount.name",
        "",
        "serviceaccounts",
        default=f"object.metadata.?name.orValue('') + {text(_OWN_ACCOUNT)}",
    ),
    Use(f"{_TEMPLATE}.serviceAccount.name", "", "serviceaccounts", _IN_TEST),
    Use("spec.ingress.className", "networking.k8s.io", "ingressclasses", None),
    Use(
        GATEWAY,
        "gateway.networking.k8s.io",
        "gateways",
        f"{GATEWAY}.namespace",
        inside="name",
    ),
    _class("storage"),
    _class("readReplicas.storage"),
    _class("tls.acme.sharedCache"),
    _class("auditFileStorage"),
    _class("backup.restoreTest.clusterTemplate.storage"),
    _claim("tls.acme.sharedCache"),
    _claim("auditFileStorage"),
    _claim("backup.target.pvc", "claimName"),
)
"""Fields that require the verb use. Secrets and ConfigMaps have a separate policy."""

RESTORE_USES: Final[tuple[Use, ...]] = (
    Use("spec.clusterTemplate.serviceAccount.name", "", "serviceaccounts"),
    _class("clusterTemplate.storage"),
    _claim("source.target.pvc", "claimName"),
)
"""The fields of an OpenBaoRestore that require the verb use."""

TEST_NAMESPACE: Final = _IN_TEST
_THERE, _BEFORE_THERE = optional(_IN_TEST), optional(_IN_TEST, BEFORE)

CREATE_IN_TEST_NAMESPACE: Final = Validation(
    rule_id="create-backup.restoreTest.namespace",
    field=_IN_TEST,
    expression=(
        f"!{_THERE}.hasValue() || {_THERE} == {_BEFORE_THERE} || "
        f"{_THERE}.orValue('') == request.namespace || "
        f"authorizer.group({text(GROUP)}).resource({text(CLUSTERS.plural)})"
        f".namespace({_THERE}.orValue('')).check('create').allowed()"
    ),
    message=(
        f"needs the verb create on {CLUSTERS.plural} in that namespace, because restore tests "
        "create temporary clusters there; ask an administrator for it, or name another namespace"
    ),
)
"""The field requests clusters in another namespace: a user who sets it must be able to create
them."""
