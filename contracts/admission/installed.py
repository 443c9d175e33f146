"""The objects of an installation with admission policies, and who may read them.

Uses contracts.admission.policies. Called by managers.context.reads.admission_policies, which
compares, and by contracts.installation. Pure.
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
"""In the operator's own namespace, where no rights in all namespaces cover it."""


@dataclass(frozen=True, slots=True)
class PolicyObject:
    """One object that has to exist, and how it is recognised."""

    resource: Resource
    key: ObjectKey
    digest: str
    """Fingerprint of its spec; "" for the parameters, of which the name of the operator counts."""

    def stands(self, live: Object, account: ObjectKey) -> bool:
        """Whether the object is as it should be, for an operator that runs as this account.

        Its annotations do not count: the spec is compared, so a manual edit is detected.
        """
        if not self.digest:
            return annotations_of(live).get(f"{GROUP}/controller") == account.name
        spec = _map(live.get("spec"))
        reference = _map(spec.get("paramRef"))
        elsewhere = reference and reference.get("namespace") != account.namespace
        return not elsewhere and fingerprint(spec) == self.digest


def parts(account: ObjectKey) -> tuple[PolicyObject, ...]:
    """Every object of the policies, for an operator that runs as this account."""
    objects = [PolicyObject(SERVICE_ACCOUNT, ObjectKey(account.namespace, PARAMETERS), "")]
    for policy in POLICIES:
        rule, binding = as_objects(policy, account.namespace)
        for resource, body in ((ADMISSION_POLICY, rule), (ADMISSION_BINDING, binding)):
            key = ObjectKey("", policy.full_name())
            objects.append(PolicyObject(resource, key, fingerprint(body["spec"])))
    return tuple(objects)


def _map(value: Any) -> Object:
    return value if isinstance(value, dict) else {}
