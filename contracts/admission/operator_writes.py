"""The policies about Roles, Secrets and ServiceAccounts that the operator writes.

Uses contracts.admission.operator_jobs and contracts.naming.names. Collected by
contracts.admission.policies. They apply in addition to RBAC: a compromised operator can grant only
the rights of servers and Jobs, cannot write a user's Secret, and cannot create a token of another
account.
"""

import re
from typing import Final

from contracts.admission.operator_jobs import (
    BINDING_OF_RUN,
    BY_THE_OPERATOR,
    RESTRICT_CUSTOM_RESOURCES,
    ROLE_OF_RUN,
    RUN,
    restrict_jobs,
)
from contracts.admission.policy import AdmissionPolicy, Match, NamedExpression, Validation
from contracts.admission.requesters import NAMESPACE, account
from contracts.naming import labels, names
from contracts.rbac.rules import CORE, RBAC

_EVERY: Final = ("CREATE", "UPDATE", "DELETE")
POD_VERBS: Final = ("get", "patch", "update")

_LABELS = "variables.it.metadata.?labels.orValue(dyn({}))"
VARIABLES: Final = (
    NamedExpression("it", "request.operation == 'DELETE' ? dyn(oldObject) : dyn(object)"),
    NamedExpression("name", "variables.it.metadata.?name.orValue('')"),
    NamedExpression(
        "cluster",
        f"{_LABELS}[?'{labels.MANAGED_BY}'].orValue('') == '{labels.OPERATOR}' ? "
        f"string({_LABELS}[?'{labels.CLUSTER}'].orValue('')) : ''",
    ),
)
_LABELED = Validation(
    rule_id="of-a-cluster",
    field="metadata.labels",
    expression="variables.cluster != ''",
    message="the operator writes objects of a cluster only, with its labels",
)
_IS_ROLE = "request.resource.resource == 'roles'"
_DELETES = "request.operation == 'DELETE'"
_RULE = (
    "rule.?apiGroups.orValue(dyn([])) == [''] && rule.?resources.orValue(dyn([])) == ['pods'] && "
    "size(rule.?resourceNames.orValue(dyn([]))) > 0 && "
    "rule.resourceNames.all(pod, pod.startsWith(variables.cluster + '-')) && "
    f"rule.verbs.all(verb, verb in {list(POD_VERBS)!r})"
)

RESTRICT_RBAC = AdmissionPolicy(
    name="restrict-controller-rbac",
    why="The operator grants servers access to their own pods, and Jobs access to their own run.",
    matches=(Match(RBAC, ("rolebindings", "roles"), _EVERY),),
    conditions=BY_THE_OPERATOR,
    variables=(*VARIABLES, RUN),
    validations=(
        _LABELED,
        Validation(
            rule_id="role-of-servers",
            field="rules",
            expression=(
                f"{_DELETES} || !({_IS_ROLE}) || (variables.name.endsWith('-role') && "
                f"variables.it.?rules.orValue(dyn([])).all(rule, {_RULE})) || {ROLE_OF_RUN}"
            ),
            message=(
                "a Role of the operator lets servers "
                f"{', '.join(POD_VERBS)} their own pods by name, or a Job write the status of its "
                "own run, and nothing else"
            ),
        ),
        Validation(
            rule_id="binding-of-servers",
            field="subjects",
            expression=(
                f"{_DELETES} || {_IS_ROLE} || (variables.it.roleRef.kind == 'Role' && "
                "variables.it.roleRef.name + 'binding' == variables.name && "
                "variables.it.?subjects.orValue(dyn([])).all(one, one.kind == 'ServiceAccount' && "
                "one.?namespace.orValue('') == request.namespace && "
                f"one.name + '-role' == variables.it.roleRef.name)) || {BINDING_OF_RUN}"
            ),
            message="a RoleBinding of the operator must bind one ServiceAccount of its "
            "namespace to its Role",
        ),
    ),
)

_KEYS = "|".join(re.escape(suffix.removeprefix("-")) for suffix in names.SYSTEM_SECRET_SUFFIXES)
SECRET_NAME: Final = rf"^(-({_KEYS})|\.[0-9]{{1,6}}-unseal-key)$"
"""The suffix after the cluster's name in the name of a Secret of the operator."""

_OLD = "dyn(oldObject).metadata"
RESTRICT_SECRETS = AdmissionPolicy(
    name="restrict-controller-secret-writes",
    why="The operator writes its own Secrets, and no Secret of a user.",
    matches=(Match(CORE, ("secrets",), _EVERY),),
    conditions=BY_THE_OPERATOR,
    variables=VARIABLES,
    validations=(
        _LABELED,
        Validation(
            rule_id="secret-name",
            field="metadata.name",
            expression=(
                "variables.name.startsWith(variables.cluster) && "
                f"variables.name.substring(size(variables.cluster)).matches(r'{SECRET_NAME}')"
            ),
            message="must be the name of a Secret of the operator",
        ),
        Validation(
            rule_id="secret-of-a-user",
            field="metadata",
            expression=(
                "request.operation == 'CREATE' || "
                f"'{labels.OWNER_UID}' in {_OLD}.?annotations.orValue(dyn({{}})) || "
                f"'{labels.ADOPT}' in {_OLD}.?annotations.orValue(dyn({{}})) || "
                f"{_OLD}.?labels[?'{labels.MANAGED_BY}'].orValue('') == '{labels.OPERATOR}'"
            ),
            message=(
                "this Secret is not managed by the operator: rename or delete it, or annotate it "
                f"with {labels.ADOPT}=<cluster> so that the operator adopts it"
            ),
        ),
    ),
)

_IS_TOKEN = "request.?subResource.orValue('') == 'token'"  # noqa: S105  the name of a subresource
_OWN = (
    f"{account('controller')} == 'system:serviceaccount:' + request.namespace + ':' + request.name"
)
RESTRICT_ACCOUNTS = AdmissionPolicy(
    name="restrict-controller-serviceaccounts",
    why="The operator creates ServiceAccounts without mounted tokens, and tokens of its own "
    "account only.",
    matches=(Match(CORE, ("serviceaccounts", "serviceaccounts/token"), _EVERY),),
    conditions=BY_THE_OPERATOR,
    variables=VARIABLES,
    validations=(
        Validation(
            rule_id="own-token",
            expression=f"!({_IS_TOKEN}) || (request.namespace == {NAMESPACE} && {_OWN})",
            message="the operator creates tokens of its own ServiceAccount only",
        ),
        Validation(
            rule_id="account-of-a-cluster",
            field="metadata.labels",
            expression=f"{_IS_TOKEN} || (variables.cluster != '' && variables.name != 'default')",
            message="the operator writes objects of a cluster only, with its labels",
        ),
        Validation(
            rule_id="account-mounts-nothing",
            field="automountServiceAccountToken",
            expression=(
                f"{_IS_TOKEN} || {_DELETES} || "
                "(variables.it.?automountServiceAccountToken == optional.of(false) && "
                "size(variables.it.?secrets.orValue(dyn([]))) == 0)"
            ),
            message="must be false, and the ServiceAccount must not list Secrets",
        ),
    ),
)

CONTROLLER_POLICIES: Final = (
    RESTRICT_RBAC,
    RESTRICT_SECRETS,
    RESTRICT_ACCOUNTS,
    restrict_jobs(VARIABLES, _LABELED),
    RESTRICT_CUSTOM_RESOURCES,
)
