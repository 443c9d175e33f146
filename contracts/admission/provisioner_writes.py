"""The policies about the provisioner of tenants and its delegate.

Uses contracts.admission.requesters and contracts.tenancy. Collected by
contracts.admission.policies. The provisioner can grant rights but not use them. It can grant only
three Roles with fixed names to the operator's account, without wildcards, and with Secrets by name.
"""

from typing import Final

from contracts import tenancy
from contracts.admission.policy import AdmissionPolicy, Match, NamedExpression, Validation
from contracts.admission.requesters import IS_PROVISIONER, NAMESPACE, account_name
from contracts.api.group import GROUP
from contracts.rbac.rules import CORE, RBAC

BY_THE_PROVISIONER: Final = (NamedExpression("by-the-provisioner", IS_PROVISIONER),)
ROLE_OF: Final = dict(zip(tenancy.BINDINGS, tenancy.ROLES, strict=True))

_EVERY: Final = ("CREATE", "UPDATE", "DELETE")
_SECRET_ROLES = (tenancy.READER_ROLE, tenancy.WRITER_ROLE)
_IS_ROLE = "request.resource.resource == 'roles'"
_DELETES = "request.operation == 'DELETE'"
_POWERS = "['escalate', 'bind', 'impersonate']"
VARIABLES: Final = (
    NamedExpression("it", "request.operation == 'DELETE' ? dyn(oldObject) : dyn(object)"),
    NamedExpression("name", "variables.it.metadata.?name.orValue('')"),
    NamedExpression(
        "rules",
        f"({_IS_ROLE}) && !({_DELETES}) ? variables.it.?rules.orValue(dyn([])) : dyn([])",
    ),
)
_ON_SECRETS = "rule.?resources.orValue(dyn([])).exists(one, one == 'secrets')"
_ONLY_SECRETS = (
    "rule.?resources.orValue(dyn([])) == ['secrets'] && rule.?apiGroups.orValue(dyn([])) == ['']"
)
_BY_NAME = "size(rule.?resourceNames.orValue(dyn([]))) > 0"
# RBAC cannot restrict `create` by resourceNames: the name is unknown at authorization time.
_CREATES = f"rule.verbs == ['create'] && variables.name == '{tenancy.WRITER_ROLE}'"
_SECRET_VERBS = (
    f"rule.verbs.all(verb, verb == 'get' || (variables.name == '{tenancy.WRITER_ROLE}' && "
    "verb in ['create', 'delete', 'patch', 'update']))"
)
_BINDINGS = "{" + ", ".join(f"'{binding}': '{role}'" for binding, role in ROLE_OF.items()) + "}"
_CONTROLLER = account_name("controller")

RESTRICT_GRANTS = AdmissionPolicy(
    name="restrict-provisioner-rbac",
    why="The provisioner grants the three Roles of a tenant to the operator, and nothing else.",
    matches=(Match(RBAC, ("rolebindings", "roles"), _EVERY),),
    conditions=BY_THE_PROVISIONER,
    variables=VARIABLES,
    validations=(
        Validation(
            rule_id="grant-names",
            field="metadata.name",
            expression=(
                f"{_IS_ROLE} ? variables.name in {list(tenancy.ROLES)!r} : "
                f"variables.name in {list(tenancy.BINDINGS)!r}"
            ),
            message="the provisioner writes the Roles and RoleBindings of a tenant only",
        ),
        Validation(
            rule_id="grant-no-wildcards",
            field="rules",
            expression=(
                "variables.rules.all(rule, "
                "!rule.verbs.exists(one, one == '*') && "
                "!rule.?apiGroups.orValue(dyn([])).exists(one, one.contains('*')) && "
                "!rule.?resources.orValue(dyn([])).exists(one, one.contains('*') || "
                "one == 'serviceaccounts/token') && "
                f"!rule.verbs.exists(one, one in {_POWERS}))"
            ),
            message="must not grant wildcards, tokens of other accounts, or verbs that escalate "
            "privileges",
        ),
        Validation(
            rule_id="grant-secrets-by-name",
            field="rules",
            expression=(
                f"variables.name in {list(_SECRET_ROLES)!r} ? "
                f"variables.rules.all(rule, {_ONLY_SECRETS} && {_SECRET_VERBS} && "
                f"({_BY_NAME} || ({_CREATES}))) : !variables.rules.exists(rule, {_ON_SECRETS})"
            ),
            message="Secrets must be granted by name, in the Roles for Secrets, and without "
            "list and watch",
        ),
        Validation(
            rule_id="grant-to-the-operator",
            field="subjects",
            expression=(
                f"{_DELETES} || {_IS_ROLE} || (variables.it.roleRef.kind == 'Role' && "
                f"{_BINDINGS}[?variables.name].orValue('') == variables.it.roleRef.name && "
                "size(variables.it.?subjects.orValue(dyn([]))) == 1 && "
                "variables.it.subjects.all(one, one.kind == 'ServiceAccount' && "
                f"one.name == {_CONTROLLER} && one.?namespace.orValue('') == {NAMESPACE}))"
            ),
            message="a RoleBinding of a tenant must bind the operator's ServiceAccount to its Role",
        ),
    ),
)

RESTRICT_GOVERNANCE = AdmissionPolicy(
    name="restrict-provisioner-governance",
    why="The provisioner writes only the quota and the limit range of a tenant.",
    matches=(Match(CORE, ("limitranges", "resourcequotas"), _EVERY),),
    conditions=BY_THE_PROVISIONER,
    variables=VARIABLES[:2],
    validations=(
        Validation(
            rule_id="governance-names",
            field="metadata.name",
            expression=(
                "request.resource.resource == 'limitranges' ? "
                f"variables.name == '{tenancy.LIMITS}' : variables.name == '{tenancy.QUOTA}'"
            ),
            message="the provisioner writes the quota and the limit range of a tenant only",
        ),
    ),
)

_LEVEL = "key.startsWith('pod-security.kubernetes.io/')"
_OURS = f"key.startsWith('{GROUP}/')"


def _map(field: str, of: str) -> str:
    return f"dyn({of}).metadata.?{field}.orValue(dyn({{}}))"


def _is_unchanged(field: str, free: str) -> str:
    """CEL: the map is unchanged, except for the keys that `free` selects."""
    new, old = _map(field, "object"), _map(field, "oldObject")
    return (
        f"{new}.all(key, {free} || (key in {old} && {old}[key] == {new}[key])) && "
        f"{old}.all(key, {free} || key in {new})"
    )


_NEW, _BEFORE = _map("labels", "object"), _map("labels", "oldObject")
RESTRICT_NAMESPACES = AdmissionPolicy(
    name="restrict-provisioner-namespaces",
    why="The provisioner raises the pod security level of a namespace, and changes nothing else.",
    matches=(Match(CORE, ("namespaces",), _EVERY),),
    conditions=BY_THE_PROVISIONER,
    validations=(
        Validation(
            rule_id="namespace-is-not-its-own",
            expression="request.operation == 'UPDATE'",
            message="the provisioner must not create or delete namespaces",
        ),
        Validation(
            rule_id="namespace-labels",
            field="metadata",
            expression=(
                "request.operation != 'UPDATE' || ("
                f"{_is_unchanged('labels', f'({_LEVEL} || {_OURS})')} && "
                f"{_is_unchanged('annotations', _OURS)} && "
                "dyn(object).?spec == dyn(oldObject).?spec && "
                "dyn(object).metadata.?finalizers == dyn(oldObject).metadata.?finalizers && "
                "dyn(object).metadata.?ownerReferences == dyn(oldObject).metadata.?ownerReferences)"
            ),
            message=(
                "only the pod security labels, and labels and annotations with the prefix "
                f"{GROUP}/, may change"
            ),
        ),
        Validation(
            rule_id="namespace-level",
            field="metadata.labels[pod-security.kubernetes.io/enforce]",
            expression=(
                "request.operation != 'UPDATE' || ("
                f"{_NEW}.all(key, !{_LEVEL} || key.endsWith('-version') || "
                f"{_NEW}[key] == 'restricted' || (key in {_BEFORE} && "
                f"{_BEFORE}[key] == {_NEW}[key])) && "
                f"{_BEFORE}.all(key, !{_LEVEL} || key in {_NEW}))"
            ),
            message="the pod security level must be restricted",
        ),
    ),
)

PROVISIONER_POLICIES: Final = (RESTRICT_GRANTS, RESTRICT_GOVERNANCE, RESTRICT_NAMESPACES)
