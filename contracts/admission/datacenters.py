"""The policies about datacenters: who owns a BootstrapWorkload, and what the operator may run for
it.

Uses contracts.admission.requesters and contracts.datacenter. Collected by
contracts.admission.policies. A compromised operator runs nothing outside of the
BootstrapWorkloads of datacenters, and nothing that could do more than `restricted` allows.
"""

from typing import Final

from contracts.admission.cel import IS_CHANGE
from contracts.admission.policy import AdmissionPolicy, Match, NamedExpression, Validation
from contracts.admission.requesters import IS_CONTROLLER, IS_KUBERNETES, NAMESPACE
from contracts.api.group import API_VERSION, GROUP, VERSION
from contracts.datacenter import names
from contracts.datacenter.kinds import DATACENTERS, WORKLOAD_KIND, WORKLOADS
from contracts.naming import labels
from contracts.rbac.rules import APPS

_EVERY: Final = ("CREATE", "UPDATE", "DELETE")

OWN_NAMESPACE_MESSAGE: Final = (
    "must not be the namespace of the operator, because whoever runs there may take its rights; "
    "name another one"
)

VALIDATE_DATACENTER = AdmissionPolicy(
    name="validate-datacenter",
    why="Services of a datacenter run beside the operator's own account in no case.",
    matches=(
        Match(GROUP, (DATACENTERS.plural,), ("CREATE", "UPDATE"), (VERSION,), scope="Cluster"),
    ),
    conditions=(NamedExpression("spec-changes", IS_CHANGE),),
    validations=(
        Validation(
            rule_id="datacenter-operator",
            field="spec.namespace",
            expression=f"object.spec.namespace != {NAMESPACE}",
            message=OWN_NAMESPACE_MESSAGE,
        ),
    ),
)

LOCK_ROWS = AdmissionPolicy(
    name="lock-bootstrap-workloads",
    why="A row says what became of a service: the operator writes it, people read it.",
    matches=(Match(GROUP, (WORKLOADS.plural, f"{WORKLOADS.plural}/status"), _EVERY),),
    validations=(
        Validation(
            rule_id="row-of-the-operator",
            expression=f"{IS_CONTROLLER} || {IS_KUBERNETES}",
            message=(
                "a BootstrapWorkload is written by the operator alone: change the services of its "
                "Datacenter or of its BootstrapServiceSet instead"
            ),
        ),
    ),
)

OF_A_ROW: Final = (
    "variables.it.metadata.?ownerReferences.orValue(dyn([])).exists_one(owner, "
    f"owner.?controller.orValue(false) && owner.apiVersion == '{API_VERSION}' && "
    f"owner.kind == '{WORKLOAD_KIND}')"
)
"""CEL: an object belongs to a BootstrapWorkload."""

RESTRICT_SERVICES = AdmissionPolicy(
    name="restrict-controller-services",
    why="The operator runs Deployments and DaemonSets for datacenters, and for nothing else.",
    matches=(Match(APPS, ("daemonsets", "deployments"), _EVERY),),
    conditions=(NamedExpression("by-the-operator", IS_CONTROLLER),),
    # As it stood: the operator takes over nothing by putting its labels on.
    variables=(
        NamedExpression("it", "request.operation == 'CREATE' ? dyn(object) : dyn(oldObject)"),
    ),
    validations=(
        Validation(
            rule_id="service-of-a-datacenter",
            field="metadata.labels",
            expression=(
                f"variables.it.metadata.?labels[?'{labels.MANAGED_BY}'].orValue('') == "
                f"'{labels.OPERATOR}' && variables.it.metadata.?labels[?'{names.SYSTEM}']"
                ".orValue('') == 'true'"
            ),
            message="the operator runs services of a datacenter only, with their labels",
        ),
        Validation(
            rule_id="service-of-a-row",
            field="metadata.ownerReferences",
            expression=f"request.operation != 'CREATE' || {OF_A_ROW}",
            message=f"a service of a datacenter is controlled by its {WORKLOAD_KIND}",
        ),
    ),
)

DATACENTER_POLICIES: Final = (VALIDATE_DATACENTER, LOCK_ROWS, RESTRICT_SERVICES)
