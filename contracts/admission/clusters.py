"""The policies about OpenBaoCluster: the rules that depend on the user.

Uses the tables of this package. Collected by contracts.admission.policies. The rules that do not
depend on the user are in the CRD (contracts.api.rules.cluster), and apply also without policies.
"""

from typing import Final

from contracts.admission.cel import BEFORE, IS_CHANGE, IS_NOT_OPERATOR, NOW
from contracts.admission.policy import PREFIX, AdmissionPolicy, Match, NamedExpression, Validation
from contracts.admission.referenced_objects import CREATE_IN_TEST_NAMESPACE, USES, Use
from contracts.admission.secrets import SECRET_VALIDATIONS, SECRET_VARIABLES
from contracts.admission.verb_gated_fields import GATES, VERBS, VerbGate
from contracts.api.group import CLUSTERS, GROUP, VERSION

CONDITIONS: Final = (
    NamedExpression("spec-changes", IS_CHANGE),
    NamedExpression("not-the-operator", IS_NOT_OPERATOR),
)
SPECS: Final = (
    NamedExpression(NOW.removeprefix("variables."), "dyn(object.spec)"),
    # A new object has no old spec, so the request adds all its fields.
    NamedExpression(
        BEFORE.removeprefix("variables."),
        "request.operation == 'CREATE' ? dyn({}) : dyn(oldObject.spec)",
    ),
)
MATCHES: Final = (
    Match(GROUP, (CLUSTERS.plural,), ("CREATE", "UPDATE"), (VERSION,), scope="Namespaced"),
)


def gate_validation(gate: VerbGate, kind: str = CLUSTERS.kind) -> Validation:
    """Return the validation of a field of this kind that needs a verb."""
    verb = gate.verb
    because = f", because {gate.because}" if gate.because else ""
    return Validation(
        rule_id=f"{verb.name}-{gate.field.removeprefix('spec.')}",
        field=gate.field,
        expression=gate.expression(),
        message=(
            f"needs the verb {verb.name} on this {kind}{because}; ask an administrator for "
            f"ClusterRole {PREFIX}{verb.role}, or leave the field as it was"
        ),
    )


def use_validation(use: Use) -> Validation:
    """Return the validation of a field that names an object."""
    return Validation(
        rule_id=f"use-{use.field.removeprefix('spec.')}",
        field=use.field,
        expression=use.expression(),
        message=use.message(),
        message_expression=use.message_expression(),
    )


VALIDATE_CLUSTER = AdmissionPolicy(
    name="validate-openbaocluster",
    why="Permissions that the writer of a cluster requires; see docs/admission.md.",
    matches=MATCHES,
    conditions=CONDITIONS,
    variables=(*SPECS, *(NamedExpression(verb.variable, verb.allowed()) for verb in VERBS)),
    validations=(
        *map(gate_validation, GATES),
        *map(use_validation, USES),
        CREATE_IN_TEST_NAMESPACE,
    ),
)

# A separate policy: authorizer checks are expensive, and the CEL budget is per policy.
VALIDATE_CLUSTER_SECRETS = AdmissionPolicy(
    name="validate-openbaocluster-secrets",
    why="Secrets and ConfigMaps that the writer of a cluster must be allowed to read or use.",
    matches=MATCHES,
    conditions=CONDITIONS,
    variables=(*SPECS, *SECRET_VARIABLES),
    validations=SECRET_VALIDATIONS,
)
