"""The lock on objects that the operator manages: users change the OpenBaoCluster instead.

Uses contracts.admission.requesters, contracts.naming.labels and contracts.naming.revision_patterns.
Collected by contracts.admission.policies. The policy restricts the change and not only the user: a
controller of Kubernetes may make the changes that such a controller makes, and every user with the
RBAC permission may change the fields that the operator does not manage (status, and other labels,
annotations and finalizers). docs/adr/20261122-what-the-locks-bound.md gives the reasons.
"""

from typing import Final

from contracts.admission.policy import AdmissionPolicy, Match, NamedExpression, Validation
from contracts.admission.requesters import IS_CONTROLLER, IS_KUBERNETES, IS_PROVISIONER
from contracts.admission.verb_gated_fields import Verb
from contracts.api.group import CLUSTERS, GROUP
from contracts.datacenter import names
from contracts.datacenter.kinds import DATACENTER_KIND
from contracts.naming import labels, revision_patterns
from contracts.optional_kinds import GATEWAY_API
from contracts.rbac.rules import APPS, BATCH, CORE, NETWORKING, POLICY, RBAC

MAINTAIN = Verb(
    "maintain",
    "mayMaintain",
    "maintain",
    "Repair objects of the operator by hand, while they carry openbao.org/maintenance.",
)

ADMIN_ANNOTATIONS: Final = (labels.ADOPT, labels.MAINTENANCE, labels.UNSEAL_REWRAPPED)
"""Annotations on managed objects that an administrator sets for the operator."""

# Users may delete these Secrets, as conditions advise: the operator recreates or no longer needs
# them.
FREE_SECRETS: Final = ("-recovery-shares", "-root-token", "-tls-server")

_EVERY: Final = ("CREATE", "UPDATE", "DELETE")
MATCHES: Final = (
    Match(
        CORE,
        (
            "configmaps",
            "endpoints",
            "limitranges",
            "persistentvolumeclaims",
            "pods",
            "pods/ephemeralcontainers",
            "resourcequotas",
            "secrets",
            "serviceaccounts",
            "services",
        ),
        _EVERY,
    ),
    Match(APPS, ("controllerrevisions", "daemonsets", "deployments", "statefulsets"), _EVERY),
    Match(BATCH, ("jobs",), _EVERY),
    Match("discovery.k8s.io", ("endpointslices",), _EVERY),
    Match(NETWORKING, ("ingresses", "networkpolicies"), _EVERY),
    Match(POLICY, ("poddisruptionbudgets",), _EVERY),
    Match(RBAC, ("rolebindings", "roles"), _EVERY),
    Match(GATEWAY_API, ("backendtlspolicies", "httproutes", "tlsroutes"), _EVERY),
    Match("monitoring.coreos.com", ("servicemonitors",), _EVERY),
)

# Controllers of Kubernetes create and update these from objects of the operator.
_DERIVED: Final = ("controllerrevisions", "endpoints", "endpointslices")
_GROWN: Final = ("persistentvolumeclaims", "pods")
_GOVERNANCE: Final = ("limitranges", "resourcequotas", "rolebindings", "roles")

_RESOURCE = "request.resource.resource"
_WHOLE = "request.?subResource.orValue('') == ''"
_LABELS = (labels.NAME, labels.INSTANCE, labels.MANAGED_BY)
_OUR_LABEL = (
    f"(key in {list(_LABELS)!r} || key.startsWith('{GROUP}/') || key.startsWith('openbao-'))"
)
_OUR_ANNOTATION = f"key.startsWith('{GROUP}/')"
_SERVER_LABEL = "key.startsWith('openbao-')"
_OUR_FINALIZER = (
    f"(one in ['kubernetes.io/pvc-protection', 'foregroundDeletion', 'orphan'] || "
    f"one.startsWith('{GROUP}/'))"
)


def _same(kind: str, matters: str) -> str:
    """CEL: the labels or annotations that `matters` selects are unchanged."""
    new, old = f"variables.new{kind}", f"variables.{kind.lower()}"
    return (
        f"{new}.all(key, !{matters} || (key in {old} && {old}[key] == {new}[key])) && "
        f"{old}.all(key, !{matters} || key in {new})"
    )


def _metadata(field: str, empty: str, of: str = "object") -> str:
    return f"dyn({of}).metadata.?{field}.orValue(dyn({empty}))"


def _it(field: str, empty: str) -> str:
    """Return the stored field; for a new object, the requested one."""
    new, stored = _metadata(field, empty), _metadata(field, empty, "oldObject")
    return f"request.operation == 'CREATE' ? {new} : {stored}"


_OF_A_REVISION = (
    "(owner.name.startsWith(variables.cluster + '-') && "
    f"size(owner.name) == {revision_patterns.length('variables.cluster')} && "
    "owner.name.substring(size(variables.cluster) + 1).matches('^[0-9a-f]+$'))"
)
_CONTROLLED = (
    # By a StatefulSet of the voters, of any revision, or by that of the read replicas.
    f"(owner.kind == 'StatefulSet' && owner.apiVersion.startsWith('{APPS}/') && "
    f"(owner.name in [variables.cluster, variables.cluster + '-read'] || {_OF_A_REVISION}))"
)
_JOB = (
    "(owner.kind == 'Job' && owner.apiVersion.startsWith('batch/') && "
    f"variables.labels[?'{labels.COMPONENT}'].orValue('') in {list(labels.JOBS)!r} && "
    f"!('{labels.WORKLOAD_POOL}' in variables.labels))"
)

# The API server evaluates a variable when an expression first uses it.
VARIABLES: Final = (
    NamedExpression("labels", _it("labels", "{}")),
    NamedExpression("annotations", _it("annotations", "{}")),
    NamedExpression("newLabels", _metadata("labels", "{}")),
    NamedExpression("newAnnotations", _metadata("annotations", "{}")),
    NamedExpression("name", _it("name", "''")),
    NamedExpression("owners", _it("ownerReferences", "[]")),
    NamedExpression("cluster", f"string(variables.labels[?'{labels.CLUSTER}'].orValue(''))"),
    NamedExpression("isOurs", IS_CONTROLLER),
    NamedExpression(
        "isGovernance",
        f"({IS_PROVISIONER}) && {_RESOURCE} in {list(_GOVERNANCE)!r} && variables.cluster == ''",
    ),
    NamedExpression("isKubernetes", IS_KUBERNETES),
    NamedExpression(
        "sameContent",
        "dyn(object).all(key, key in ['metadata', 'status'] || "
        "(key in dyn(oldObject) && dyn(oldObject)[key] == dyn(object)[key])) && "
        "dyn(oldObject).all(key, key == 'status' || key in dyn(object))",
    ),
    NamedExpression("sameLabels", _same("Labels", _OUR_LABEL)),
    NamedExpression("sameAnnotations", _same("Annotations", _OUR_ANNOTATION)),
    NamedExpression(
        "sameOwners",
        "dyn(object).metadata.?ownerReferences == dyn(oldObject).metadata.?ownerReferences",
    ),
    NamedExpression(
        "sameGuards",
        f"{_metadata('finalizers', '[]')}.filter(one, {_OUR_FINALIZER}) == "
        f"{_metadata('finalizers', '[]', 'oldObject')}.filter(one, {_OUR_FINALIZER})",
    ),
    NamedExpression(
        "fittingOwners",
        f"{_metadata('ownerReferences', '[]')}.all(owner, owner in variables.owners || "
        f"{_CONTROLLED})",
    ),
    NamedExpression(
        "marked", f"variables.annotations[?'{labels.MAINTENANCE}'].orValue('') == 'true'"
    ),
    NamedExpression(
        MAINTAIN.variable,
        f"authorizer.group('{GROUP}').resource('{CLUSTERS.plural}').namespace(request.namespace)"
        f".name(variables.cluster).check('{MAINTAIN.name}').allowed()",
    ),
)

_POD_OF_OURS = (
    # A pod of a user's StatefulSet or Job must not be accepted as a pod of the operator.
    f"{_RESOURCE} == 'pods' && variables.owners.exists(owner, {_CONTROLLED} || {_JOB})"
)
_DATA_VOLUME = (
    f"{_RESOURCE} == 'persistentvolumeclaims' && "
    "variables.name.startsWith('data-' + variables.cluster + '-')"
)
_CREATES = (
    "request.operation != 'CREATE' || variables.isOurs || variables.isGovernance || "
    f"(variables.isKubernetes && ({_RESOURCE} in {list(_DERIVED)!r} || ({_POD_OF_OURS}) || "
    f"({_DATA_VOLUME}))) || variables.{MAINTAIN.variable}"
)

_OF_OTHERS = (
    "(variables.sameContent && variables.sameLabels && variables.sameAnnotations && "
    "variables.sameOwners && variables.sameGuards)"
)
_OF_KUBERNETES = (
    f"(variables.isKubernetes && ({_RESOURCE} in {list(_DERIVED)!r} || (variables.sameLabels && "
    "variables.sameAnnotations && variables.fittingOwners && "
    f"(variables.sameContent || ({_RESOURCE} in {list(_GROWN)!r} && {_WHOLE})))))"
)
_OF_THE_SERVER = (
    f"({_RESOURCE} == 'pods' && {_WHOLE} && "
    "request.userInfo.username == 'system:serviceaccount:' + request.namespace + ':' + "
    "dyn(oldObject).spec.?serviceAccountName.orValue('') && "
    # The API server adds the name of the pod for which it issued the token.
    "request.userInfo.?extra[?'authentication.kubernetes.io/pod-name'].orValue([]) == "
    "[request.name] && "
    "variables.sameContent && variables.sameAnnotations && variables.sameOwners && "
    f"variables.sameGuards && {_same('Labels', f'({_OUR_LABEL} && !{_SERVER_LABEL})')})"
)
_OF_ADMINS = (
    "(variables.sameContent && variables.sameLabels && variables.sameOwners && "
    "variables.sameGuards && "
    f"{_same('Annotations', f'({_OUR_ANNOTATION} && !(key in {list(ADMIN_ANNOTATIONS)!r}))')} && "
    f"variables.{MAINTAIN.variable})"
)
_BY_HAND = f"(variables.marked && variables.{MAINTAIN.variable})"
_UPDATES = (
    "request.operation != 'UPDATE' || variables.isOurs || variables.isGovernance || "
    f"{_OF_OTHERS} || {_OF_KUBERNETES} || {_OF_THE_SERVER} || {_OF_ADMINS} || {_BY_HAND}"
)

# Allowed if no container of the pod can run: the API server then sets the grace period to 0 itself.
_FORCED = (
    "request.?options.?gracePeriodSeconds.orValue(dyn(1)) == 0 && "
    "dyn(oldObject).spec.?nodeName.orValue('') != '' && "
    "!(dyn(oldObject).?status.?phase.orValue('') in ['Failed', 'Succeeded'])"
)
_DELETES = (
    "request.operation != 'DELETE' || variables.isOurs || variables.isGovernance || "
    "variables.isKubernetes || "
    # The StatefulSet recreates the pod; `kubectl drain --disable-eviction` deletes pods too.
    f"({_RESOURCE} == 'pods' && !({_FORCED})) || "
    f"({_RESOURCE} == 'secrets' && (size(variables.owners) == 0 || "
    f"{list(FREE_SECRETS)!r}.exists(end, variables.name.endsWith(end)))) || "
    f"({_RESOURCE} == 'persistentvolumeclaims' && "
    f"'{labels.REMOVED_PEER}' in variables.annotations) || {_BY_HAND}"
)

_OWNER = (
    "request.resource.resource + ' ' + variables.name + ' belongs to OpenBaoCluster ' + "
    "variables.cluster + ' and is managed by the operator"
)
_REPAIR = (
    # The operator copies spec.maintenance.enabled to the annotation of server pods, and so removes
    # one that a user sets.
    f"; to repair it by hand, a user with the verb {MAINTAIN.name} on the cluster must first set "
    f"the annotation {labels.MAINTENANCE}=true on this object, or for a server pod "
    "spec.maintenance.enabled=true on the cluster"
)

_OF_DATACENTER = f"variables.labels[?'{names.DATACENTER}'].orValue('')"
_OWNER_SERVICE = (
    f"request.resource.resource + ' ' + variables.name + ' belongs to service ' + "
    f"string(variables.labels[?'{names.BOOTSTRAP}'].orValue('')) + ' of {DATACENTER_KIND} ' + "
    f"string({_OF_DATACENTER}) + ' and is managed by the operator"
)
_REPAIR_SERVICE = (
    f"; to repair it by hand, a user with the verb {MAINTAIN.name} on all clusters of the "
    f"namespace must first set the annotation {labels.MAINTENANCE}=true on this object"
)


def _refusal(advice: str) -> str:
    """CEL: a message with the owner and what to do instead; `advice` names the cluster."""
    service = advice.replace("the cluster", "that service")
    return (
        f"{_OF_DATACENTER} != '' ? {_OWNER_SERVICE}: {service}{_REPAIR_SERVICE}' : "
        f"{_OWNER}: {advice}{_REPAIR}'"
    )


_MANAGED = {"matchLabels": {labels.MANAGED_BY: labels.OPERATOR}}

LOCK_MANAGED = AdmissionPolicy(
    name="lock-managed-resource-mutations",
    why="Only the operator and components of Kubernetes change the objects of a cluster.",
    matches=MATCHES,
    object_selector=_MANAGED,
    variables=VARIABLES,
    validations=(
        Validation(
            rule_id="made-by-the-operator",
            field=f"metadata.labels[{labels.MANAGED_BY}]",
            expression=_CREATES,
            message=(
                f"only the operator creates objects with the label {labels.MANAGED_BY}="
                f"{labels.OPERATOR}; remove the label, or create an OpenBaoCluster"
            ),
        ),
        Validation(
            rule_id="changed-by-the-operator",
            expression=_UPDATES,
            message=f"an object of an OpenBaoCluster: change the cluster instead{_REPAIR}",
            message_expression=_refusal("change the cluster instead"),
        ),
        Validation(
            rule_id="deleted-by-the-operator",
            expression=_DELETES,
            message=f"an object of an OpenBaoCluster: delete the cluster instead{_REPAIR}",
            message_expression=_refusal("change or delete the cluster instead"),
        ),
    ),
)

# A Scale object has no labels; its status has the selector of the pods.
LOCK_SCALE = AdmissionPolicy(
    name="lock-managed-scale",
    why="The number of servers is set by spec.replicas of the cluster, not by the StatefulSet.",
    matches=(Match(APPS, ("deployments/scale", "statefulsets/scale"), ("UPDATE",)),),
    conditions=(
        NamedExpression(
            "is-managed",
            f"['{labels.MANAGED_BY}={labels.OPERATOR}', '{names.SYSTEM}=true'].exists(mark, "
            "dyn(oldObject).?status.?selector.orValue('').contains(mark))",
        ),
    ),
    validations=(
        Validation(
            rule_id="scaled-by-the-operator",
            field="spec.replicas",
            expression=(
                f"{IS_CONTROLLER} || dyn(object).?spec.?replicas == dyn(oldObject).?spec.?replicas"
            ),
            message=(
                "the operator sets the replicas: scale the OpenBaoCluster instead (kubectl scale "
                "openbaocluster), or change the replicas of the service of its Datacenter"
            ),
        ),
    ),
)
