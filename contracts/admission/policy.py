"""The shape of an admission policy, and its two objects.

Uses hashlib and json. The policies are in the other modules of this package. Semantics: Kubernetes
API reference, admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy.
"""

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any, Final, Literal

PREFIX: Final = "openbao-operator-"
"""In front of the name of every policy and of its binding, which is called the same."""

PART_OF: Final = "app.kubernetes.io/part-of"
FINGERPRINT: Final = "openbao.org/policy-fingerprint"
"""Annotation: sha256 of what the policy or the binding says, as this operator wrote it."""

PARAMETERS: Final = "openbao-operator-admission"
"""Name of the object in the operator's namespace that names the accounts of this installation.

A ServiceAccount, which no pod uses, with the names in its annotations. Not a ConfigMap: once the
last policy with parameters of that kind is gone, the API server (1.36, policy_source.go) stops its
one informer of the kind and never starts it again, so policies that are applied again would find no
parameters until it restarts. For ServiceAccounts it has a separate informer that always runs.
"""

Operation = Literal["CREATE", "UPDATE", "DELETE", "CONNECT", "*"]
Reason = Literal["Forbidden", "Invalid"]

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Match:
    """Requests that a policy is asked about: kinds of one group and what is done to them."""

    group: str
    resources: tuple[str, ...]
    operations: tuple[Operation, ...]
    versions: tuple[str, ...] = ("*",)
    names: tuple[str, ...] = ()
    scope: Literal["*", "Namespaced", "Cluster"] = "*"

    def rule(self) -> Object:
        """The match as one of `resourceRules`."""
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
    """CEL under a name: a variable of the policy, or a condition for being asked at all.

    A condition knows `object`, `oldObject`, `request`, `authorizer` and `params`, no variables.
    """

    name: str
    expression: str


@dataclass(frozen=True, slots=True)
class Validation:
    """What must hold, in CEL, and the message when it does not.

    `field` is the path in the object that the refusal is about; the text begins with it, because
    the API server knows no field of a policy. Empty for the whole object.
    `message_expression` is CEL for a text that names what only the request knows; it wins over
    `message`.
    """

    rule_id: str
    expression: str
    message: str
    field: str = ""
    reason: Reason = "Forbidden"
    message_expression: str = ""

    def text(self) -> str:
        """What a user reads."""
        return f"{self.field}: {self.message}" if self.field else self.message

    def body(self) -> Object:
        """The validation as the API server takes it."""
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
    that narrow what it applies to; it applies to an object that carries the labels before or after
    the change. While PARAMETERS is missing, no policy applies: an operator that was removed must
    not keep users from deleting what it left, nor from writing Roles and Secrets. A user who may
    delete that object may as well replace the operator.
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
        """The name of the policy and of its binding in the cluster."""
        return f"{PREFIX}{self.name}"

    def spec(self) -> Object:
        """The spec of the ValidatingAdmissionPolicy."""
        matching: Object = {
            # The same rule for every version of an object in a request.
            "matchPolicy": "Equivalent",
            "resourceRules": [match.rule() for match in self.matches],
        }
        # Both are written out: the API server would fill them in, and a comparison by
        # fingerprint compares the stored spec with the written one.
        matching["objectSelector"] = self.object_selector
        matching["namespaceSelector"] = self.namespace_selector
        body: Object = {
            "failurePolicy": "Fail",
            "paramKind": {"apiVersion": "v1", "kind": "ServiceAccount"},
            "matchConstraints": matching,
            "validations": [validation.body() for validation in self.validations],
        }
        if self.conditions:
            body["matchConditions"] = [_named(one) for one in self.conditions]
        if self.variables:
            body["variables"] = [_named(one) for one in self.variables]
        return body

    def binding_spec(self, namespace: str) -> Object:
        """The spec of the binding; `namespace` is that of the object with the names."""
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
    """The policy and its binding, as they are applied."""
    kind = "ValidatingAdmissionPolicy"
    return (
        _object(kind, policy, policy.spec()),
        _object(f"{kind}Binding", policy, policy.binding_spec(namespace)),
    )


def fingerprint(spec: Object) -> str:
    """What tells one text of a policy from another: sha256 of its canonical JSON.

    The namespace of the parameters is left out of it: it belongs to the installation, and an
    overlay that moves it has changed nothing of the rule.
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


def _named(one: NamedExpression) -> Object:
    return {"name": one.name, "expression": one.expression}
