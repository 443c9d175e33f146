"""The records of an admission policy, and its two objects: the policy and its binding.

Uses hashlib and json. The policies are in the other modules of this package. Semantics: Kubernetes
API reference, admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy.
"""

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any, Final, Literal

PREFIX: Final = "openbao-operator-"
"""Prefix of the name of every policy and of its binding, which has the same name."""

PART_OF: Final = "app.kubernetes.io/part-of"
FINGERPRINT: Final = "openbao.org/policy-fingerprint"
"""Annotation: sha256 of the spec of the policy or of the binding, as this operator wrote it."""

PARAMETERS: Final = "openbao-operator-admission"
"""Name of the object in the operator's namespace that names the accounts of this installation.

A ServiceAccount, which no pod uses, with the names in its annotations. Not a ConfigMap: when the
last policy with parameters of that kind is deleted, the API server (1.36, policy_source.go) stops
its informer of the kind and never starts it again, so policies that are applied again would find no
parameters until the API server restarts. For ServiceAccounts it has a separate informer that always
runs.
"""

Operation = Literal["CREATE", "UPDATE", "DELETE", "CONNECT", "*"]
Reason = Literal["Forbidden", "Invalid"]

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Match:
    """Requests to which a policy applies: kinds of one group, and the operations on them."""

    group: str
    resources: tuple[str, ...]
    operations: tuple[Operation, ...]
    versions: tuple[str, ...] = ("*",)
    names: tuple[str, ...] = ()
    scope: Literal["*", "Namespaced", "Cluster"] = "*"

    def rule(self) -> Object:
        """Return the match as an item of `resourceRules`."""
        body: Object = {
            "apiGroups": [self.group],
            "apiVersions": list(self.versions),
            "operations": list(self.operations),
            "resources": list(self.resources),
            "scope": self.scope,
        }
        return {**body, "resourceNames": list(self.names)} if self.names else body


@dataclass(frozen=True, slots=True)
class NamedExpression:
    """CEL with a name: a variable of the policy, or a match condition.

    A condition can use `object`, `oldObject`, `request`, `authorizer` and `params`, but no
    variables.
    """

    name: str
    expression: str


@dataclass(frozen=True, slots=True)
class Validation:
    """A CEL expression that must be true, and the message if it is not.

    `field` is the path of the field in the object, empty for the whole object. The text begins with
    it, because a validation of a policy has no field path. `message_expression` is CEL for a
    message with values of the request; it takes precedence over `message`.
    """

    rule_id: str
    expression: str
    message: str
    field: str = ""
    reason: Reason = "Forbidden"
    message_expression: str = ""

    def text(self) -> str:
        """Return the message with the path of the field."""
        return f"{self.field}: {self.message}" if self.field else self.message

    def body(self) -> Object:
        """Return the validation as an item of `validations`."""
        body: Object = {
            "expression": self.expression,
            "message": self.text(),
            "reason": self.reason,
        }
        return (
            {**body, "messageExpression": self.message_expression}
            if self.message_expression
            else body
        )


@dataclass(frozen=True, slots=True)
class AdmissionPolicy:
    """One policy and its binding.

    `name` is without the prefix. `object_selector` and `namespace_selector` are label selectors
    that restrict the policy; it applies to an object that has the labels before or after the
    change. While PARAMETERS is missing, no policy applies: after the operator is uninstalled, users
    must be able to delete its objects and to write Roles and Secrets. A user who may delete that
    object could also replace the operator.
    """

    name: str
    why: str
    matches: tuple[Match, ...]
    validations: tuple[Validation, ...]
    conditions: tuple[NamedExpression, ...] = ()
    variables: tuple[NamedExpression, ...] = ()
    object_selector: Object = field(default_factory=dict)
    namespace_selector: Object = field(default_factory=dict)

    def full_name(self) -> str:
        """Return the name of the policy and of its binding in the cluster."""
        return f"{PREFIX}{self.name}"

    def spec(self) -> Object:
        """Return the spec of the ValidatingAdmissionPolicy."""
        matching: Object = {
            # The policy also applies to requests for other versions of the resource.
            "matchPolicy": "Equivalent",
            "resourceRules": [match.rule() for match in self.matches],
        }
        # Both are always set, because the API server defaults them and the fingerprint of the
        # stored spec must equal that of the written spec.
        matching["objectSelector"] = self.object_selector
        matching["namespaceSelector"] = self.namespace_selector
        body: Object = {
            "failurePolicy": "Fail",
            "paramKind": {"apiVersion": "v1", "kind": "ServiceAccount"},
            "matchConstraints": matching,
            "validations": [validation.body() for validation in self.validations],
        }
        if self.conditions:
            body["matchConditions"] = [_variable(condition) for condition in self.conditions]
        if self.variables:
            body["variables"] = [_variable(variable) for variable in self.variables]
        return body

    def binding_spec(self, namespace: str) -> Object:
        """Return the spec of the binding; `namespace` is that of the parameters."""
        return {
            "policyName": self.full_name(),
            "paramRef": {
                "name": PARAMETERS,
                "namespace": namespace,
                "parameterNotFoundAction": "Allow",
            },
            "validationActions": ["Deny"],
        }


def as_objects(policy: AdmissionPolicy, namespace: str) -> tuple[Object, Object]:
    """Return the policy and its binding, as they are applied."""
    kind = "ValidatingAdmissionPolicy"
    return (
        _object(kind, policy, policy.spec()),
        _object(f"{kind}Binding", policy, policy.binding_spec(namespace)),
    )


def fingerprint(spec: Object) -> str:
    """Return the sha256 of the canonical JSON of a spec.

    The fingerprint excludes the namespace of the parameters: an overlay can set another namespace
    without a change of the policy.
    """
    fields = dict(spec)
    if "paramRef" in fields:
        fields["paramRef"] = {**fields["paramRef"], "namespace": ""}
    canonical = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _object(kind: str, policy: AdmissionPolicy, spec: Object) -> Object:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {
            "name": policy.full_name(),
            "labels": {PART_OF: "openbao-operator"},
            "annotations": {FINGERPRINT: fingerprint(spec)},
        },
        "spec": spec,
    }


def _variable(named: NamedExpression) -> Object:
    return {"name": named.name, "expression": named.expression}
