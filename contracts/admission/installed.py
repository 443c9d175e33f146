"""The objects of an installation with admission policies, and the rights to read them.

Uses contracts.admission.policies. Called by managers.context.reads.admission_policies, which
compares them with the live objects, and by contracts.installation. Pure.
"""

from dataclasses import dataclass
from typing import Any, Final

from contracts.admission.policies import POLICIES
from contracts.admission.policy import PARAMETERS, as_objects, fingerprint
from contracts.api.group import GROUP
from contracts.rbac.rules import CORE, Right
from runtime.builtin_kinds import ADMISSION_BINDING, ADMISSION_POLICY, SERVICE_ACCOUNT
from runtime.types import Object, ObjectKey, Resource, annotations_of

NAMES: Final = tuple(sorted(policy.full_name() for policy in POLICIES))

ADMISSION_SEEN: Final = (
    Right(
        "The operator checks that the admission policies match its release. It reads them by name.",
        ADMISSION_POLICY.group,
        (ADMISSION_POLICY.plural, ADMISSION_BINDING.plural),
        ("get",),
        names=NAMES,
    ),
)
PARAMETERS_SEEN: Final = (
    Right(
        "The operator checks that the admission policies know its identity. It reads their "
        "parameters by name.",
        CORE,
        (SERVICE_ACCOUNT.plural,),
        ("get",),
        names=(PARAMETERS,),
    ),
)
"""A right in the operator's own namespace."""


@dataclass(frozen=True, slots=True)
class PolicyObject:
    """One object that must exist, and the fingerprint of its spec."""

    resource: Resource
    key: ObjectKey
    digest: str
    """Empty for the parameters, which are compared by the name of the operator's account."""

    def matches(self, live: Object, account: ObjectKey) -> bool:
        """Return whether the live object is correct for an operator that runs as this account.

        It compares the spec and not the annotation, so that it detects a manual edit.
        """
        if not self.digest:
            return annotations_of(live).get(f"{GROUP}/controller") == account.name
        spec = _map(live.get("spec"))
        reference = _map(spec.get("paramRef"))
        other_namespace = reference and reference.get("namespace") != account.namespace
        return not other_namespace and fingerprint(spec) == self.digest


def parts(account: ObjectKey) -> tuple[PolicyObject, ...]:
    """Return all policies, bindings and parameters, for an operator that runs as this account."""
    objects = [PolicyObject(SERVICE_ACCOUNT, ObjectKey(account.namespace, PARAMETERS), "")]
    for policy in POLICIES:
        definition, binding = as_objects(policy, account.namespace)
        for resource, body in ((ADMISSION_POLICY, definition), (ADMISSION_BINDING, binding)):
            key = ObjectKey("", policy.full_name())
            objects.append(PolicyObject(resource, key, fingerprint(body["spec"])))
    return tuple(objects)


def _map(value: Any) -> Object:
    return value if isinstance(value, dict) else {}
