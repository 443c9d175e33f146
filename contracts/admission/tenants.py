"""The policy about OpenBaoTenant: a user cannot prepare a namespace of another user.

Uses contracts.admission.policy. Collected by contracts.admission.policies. The provisioner makes
the same checks. A rule of the CRD makes targetNamespace immutable.
"""

from typing import Final

from contracts.admission.cel import IS_CHANGE
from contracts.admission.policy import AdmissionPolicy, Match, NamedExpression, Validation
from contracts.admission.requesters import NAMESPACE
from contracts.api.group import GROUP, TENANTS, VERSION

TARGET_MESSAGE: Final = (
    "must be the namespace of the tenant itself, because only a tenant in the operator's namespace "
    "may target another namespace; change it, or ask an administrator"
)
OPERATOR_MESSAGE: Final = (
    "must not be the namespace of the operator, because a pod there could use its permissions; "
    "choose another namespace"
)

VALIDATE_TENANT = AdmissionPolicy(
    name="validate-openbaotenant",
    why="A tenant outside of the operator's namespace targets its own namespace only.",
    matches=(
        Match(GROUP, (TENANTS.plural,), ("CREATE", "UPDATE"), (VERSION,), scope="Namespaced"),
    ),
    conditions=(NamedExpression("spec-changes", IS_CHANGE),),
    validations=(
        Validation(
            rule_id="tenant-target",
            field="spec.targetNamespace",
            expression=(
                f"request.namespace == {NAMESPACE} || "
                "object.spec.targetNamespace == request.namespace"
            ),
            message=TARGET_MESSAGE,
        ),
        Validation(
            rule_id="tenant-operator",
            field="spec.targetNamespace",
            expression=f"object.spec.targetNamespace != {NAMESPACE}",
            message=OPERATOR_MESSAGE,
        ),
    ),
)
