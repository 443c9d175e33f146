"""The policies about datacenters, BootstrapWorkloads, and the objects that the operator creates for
them.

Uses contracts.admission.requesters and contracts.datacenter. Collected by
contracts.admission.policies. A compromised operator can run only services of datacenters, and only
within the level `restricted`, unless an administrator set another level on the namespace.
"""

from typing import Final

from contracts.admission.cel import IS_CHANGE
from contracts.admission.clusters import SPECS, gate_validation
from contracts.admission.policy import AdmissionPolicy, Match, NamedExpression, Validation
from contracts.admission.requesters import IS_CONTROLLER, IS_KUBERNETES, NAMESPACE
from contracts.admission.verb_gated_fields import Verb, VerbGate
from contracts.api.group import API_VERSION, GROUP, VERSION
from contracts.datacenter import names
from contracts.datacenter.kinds import (
    DATACENTER_KIND,
    DATACENTERS,
    NODE_ACCESS_VERB,
    OBJECT_KINDS_VERB,
    WORKLOAD_KIND,
    WORKLOADS,
)
from contracts.naming import labels
from contracts.rbac.rules import APPS

_EVERY: Final = ("CREATE", "UPDATE", "DELETE")

OWN_NAMESPACE_MESSAGE: Final = (
    "must not be the namespace of the operator, because a pod there could use its permissions; "
    "choose another namespace"
)

NODE_ACCESS: Final = Verb(
    NODE_ACCESS_VERB,
    "mayUseNodeAccess",
    "use-node-access",
    "Let services of a datacenter read directories of their node, and run as root.",
)
"""A verb on datacenters, like OBJECT_KINDS."""
OBJECT_KINDS: Final = Verb(
    OBJECT_KINDS_VERB,
    "mayUseObjectKinds",
    "use-object-kinds",
    "Let services of a datacenter create objects of other kinds.",
)
GATES: Final = (
    VerbGate("spec.nodeAccess", NODE_ACCESS),
    VerbGate("spec.objectKinds", OBJECT_KINDS, "size({spec}.?objectKinds.orValue(dyn([]))) > 0"),
)

VALIDATE_DATACENTER = AdmissionPolicy(
    name="validate-datacenter",
    why=(
        "Services of a datacenter do not run in the operator's namespace, and have only the "
        "access to their node that an administrator granted."
    ),
    matches=(
        Match(GROUP, (DATACENTERS.plural,), ("CREATE", "UPDATE"), (VERSION,), scope="Cluster"),
    ),
    conditions=(NamedExpression("spec-changes", IS_CHANGE),),
    variables=(
        *SPECS,
        *(NamedExpression(gate.verb.variable, gate.verb.allowed()) for gate in GATES),
        NamedExpression("allowed", "variables.spec.?nodeAccess.orValue(dyn({}))"),
        NamedExpression(
            "folders",
            "variables.allowed.?hostPaths.orValue(dyn([])).map(path, string(path) + '/')",
        ),
        NamedExpression("services", "variables.spec.?bootstrapServices.orValue(dyn([]))"),
    ),
    validations=(
        *(gate_validation(gate, DATACENTER_KIND) for gate in GATES),
        Validation(
            rule_id="node-hostPaths",
            field="spec.bootstrapServices[*].services[*].volumes[*].hostPath",
            expression=(
                "variables.services.all(service, service.?services.orValue(dyn([])).all(part, "
                "part.?volumes.orValue(dyn([])).all(volume, !has(volume.hostPath) || "
                "variables.folders.exists(folder, "
                "(string(volume.hostPath) + '/').startsWith(folder)))))"
            ),
            message=(
                "must be at or below a directory of spec.nodeAccess.hostPaths; ask a user with the "
                f"verb {NODE_ACCESS_VERB} to add the directory, or remove the volume"
            ),
        ),
        Validation(
            rule_id="object-kinds",
            field="spec.bootstrapServices[*].objects[*].kind",
            expression=(
                "variables.services.all(service, service.?objects.orValue(dyn([])).all(one, "
                "variables.spec.?objectKinds.orValue(dyn([])).exists(allowed, "
                "allowed.kind == one.?kind.orValue(dyn('')) && "
                "allowed.group == (string(one.?apiVersion.orValue(dyn(''))).contains('/') ? "
                "string(one.apiVersion).split('/')[0] : ''))))"
            ),
            message=(
                "must be a kind of spec.objectKinds; ask a user with the verb "
                f"{OBJECT_KINDS_VERB} to add it, or remove the object"
            ),
        ),
        Validation(
            rule_id="node-runAsRoot",
            field="spec.bootstrapServices[*].runAsUser",
            expression=(
                "variables.allowed.?runAsRoot.orValue(false) || "
                "variables.services.all(service, service.?runAsUser.orValue(dyn(1)) != 0)"
            ),
            message=(
                "must not be 0 unless spec.nodeAccess.runAsRoot is true; ask a user with the verb "
                f"{NODE_ACCESS_VERB} to set it, or set another runAsUser"
            ),
        ),
        Validation(
            rule_id="datacenter-operator",
            field="spec.namespace",
            expression=f"object.spec.namespace != {NAMESPACE}",
            message=OWN_NAMESPACE_MESSAGE,
        ),
    ),
)

LOCK_WORKLOADS = AdmissionPolicy(
    name="lock-bootstrap-workloads",
    why="Only the operator writes a BootstrapWorkload.",
    matches=(Match(GROUP, (WORKLOADS.plural, f"{WORKLOADS.plural}/status"), _EVERY),),
    validations=(
        Validation(
            rule_id="workload-of-the-operator",
            expression=f"{IS_CONTROLLER} || {IS_KUBERNETES}",
            message=(
                "only the operator writes a BootstrapWorkload: change the services of its "
                "Datacenter or of its BootstrapServiceSet instead"
            ),
        ),
    ),
)

IS_OWNED_BY_WORKLOAD: Final = (
    "variables.it.metadata.?ownerReferences.orValue(dyn([])).exists_one(owner, "
    f"owner.?controller.orValue(false) && owner.apiVersion == '{API_VERSION}' && "
    f"owner.kind == '{WORKLOAD_KIND}')"
)
"""CEL: the controller of an object is a BootstrapWorkload."""

RESTRICT_SERVICES = AdmissionPolicy(
    name="restrict-controller-services",
    why="The operator creates Deployments and DaemonSets for datacenters only.",
    matches=(Match(APPS, ("daemonsets", "deployments"), _EVERY),),
    conditions=(NamedExpression("by-the-operator", IS_CONTROLLER),),
    # The old object: the operator must not adopt an object by adding its labels.
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
            message="the operator runs only services of datacenters, with their labels",
        ),
        Validation(
            rule_id="service-of-a-workload",
            field="metadata.ownerReferences",
            expression=f"request.operation != 'CREATE' || {IS_OWNED_BY_WORKLOAD}",
            message=f"a service of a datacenter is controlled by its {WORKLOAD_KIND}",
        ),
    ),
)

DATACENTER_POLICIES: Final = (VALIDATE_DATACENTER, LOCK_WORKLOADS, RESTRICT_SERVICES)
