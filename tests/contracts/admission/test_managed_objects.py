"""The tables of locked objects contain every kind that the operator creates."""

import re

import pytest

from contracts.admission.datacenters import LOCK_WORKLOADS, RESTRICT_SERVICES
from contracts.admission.managed_objects import FREE_SECRETS, LOCK_MANAGED, MAINTAIN
from contracts.admission.operator_jobs import STATUS_VERBS
from contracts.admission.operator_pods import LOCK_PODS
from contracts.admission.operator_writes import POD_VERBS, SECRET_NAME
from contracts.admission.policies import POLICIES
from contracts.admission.provisioner_writes import ROLE_OF
from contracts.admission.user_roles import DELEGATED
from contracts.api.group import BACKUPS, GROUP, RESTORES
from contracts.naming import names, revision_patterns
from contracts.rbac.rules import APPS, OBJECTS, OWN_WRITES, SECRETS, Right
from contracts.rbac.rules_datacenters import DATACENTERS

LOCKED = {
    (match.group, kind)
    for policy in (LOCK_MANAGED, LOCK_WORKLOADS)
    for match in policy.matches
    for kind in match.resources
}
MADE = [right for right in (*OBJECTS, *SECRETS, *DATACENTERS) if "create" in right.verbs]
# A user who drains a node evicts pods of other owners; the disruption budget decides.
NO_OBJECTS = {"events", "pods/eviction"}
OF_OTHERS = ("lock-", "restrict-")


@pytest.mark.parametrize("right", MADE, ids=[right.why for right in MADE])
def test_every_kind_that_the_operator_creates_is_locked(right: Right) -> None:
    groups = {(right.group, kind) for kind in right.resources if kind not in NO_OBJECTS}
    assert groups <= LOCKED


def test_the_operator_may_only_create_restricted_workloads() -> None:
    runs = {kind for right in DATACENTERS if right.group == APPS for kind in right.resources}
    assert runs == {"daemonsets", "deployments"}
    for policy in (RESTRICT_SERVICES, LOCK_PODS):
        matched = {
            kind for match in policy.matches if match.group == APPS for kind in match.resources
        }
        assert runs <= matched, policy.name


def test_a_pod_may_belong_to_a_voter_pool_of_any_revision() -> None:
    """For the owner of a new pod and for an owner that adopts one."""
    expressions = [
        rule.expression
        for rule in LOCK_MANAGED.validations
        if "owner.name in [variables.cluster, variables.cluster + '-read']" in rule.expression
    ]
    expressions += [
        variable.expression
        for variable in LOCK_MANAGED.variables
        if "owner.name in [variables.cluster, variables.cluster + '-read']" in variable.expression
    ]
    assert len(expressions) == 2
    for cel in expressions:
        assert f"size(owner.name) == {revision_patterns.length('variables.cluster')}" in cel
        assert "owner.name.startsWith(variables.cluster + '-')" in cel
        assert ".matches('^[0-9a-f]+$')" in cel


def test_policies_for_objects_of_other_users_allow_without_parameters() -> None:
    for policy in POLICIES:
        for match in policy.matches:
            if match.group != GROUP:
                assert policy.name.startswith(OF_OTHERS)
        reference = policy.binding_spec("anywhere")["paramRef"]
        assert reference["parameterNotFoundAction"] == "Allow"


@pytest.mark.parametrize(
    "secret",
    [
        names.recovery_shares_secret("c"),
        names.root_token_secret("c"),
        names.tls_ca_secret("c"),
        names.tls_server_secret("c"),
        names.unseal_key_secret("c"),
        names.unseal_key_secret("c", 2),
        names.unseal_key_secret("c", 123456),
    ],
)
def test_the_operator_may_write_every_secret_that_it_names(secret: str) -> None:
    assert re.search(SECRET_NAME, secret.removeprefix("c"))


@pytest.mark.parametrize("rest", ["", "-config", "-tls-server2", ".a-unseal-key", "-d-root-token"])
def test_the_operator_may_write_no_other_secret(rest: str) -> None:
    assert not re.search(SECRET_NAME, rest)


def test_users_may_not_delete_a_key_that_data_needs() -> None:
    assert set(FREE_SECRETS) == {
        ending
        for ending in names.SYSTEM_SECRET_SUFFIXES
        if ending not in ("-unseal-key", "-tls-ca")
    }


def test_the_role_of_a_server_has_no_permission_that_the_operator_lacks() -> None:
    pods = next(right for right in OBJECTS if right.resources == ("pods",))
    assert set(POD_VERBS) <= set(pods.verbs)


def test_the_role_of_a_job_has_no_permission_that_the_operator_lacks() -> None:
    held = {
        (resource, verb)
        for right in OWN_WRITES
        for resource in right.resources
        for verb in right.verbs
    }
    for kind in (BACKUPS, RESTORES):
        statuses = {(f"{kind.plural}/status", verb) for verb in STATUS_VERBS}
        assert {(kind.plural, "get"), *statuses} <= held


def test_each_binding_of_a_tenant_has_its_role() -> None:
    assert all(
        binding.removesuffix("binding") in (role, f"{role}-role")
        for binding, role in ROLE_OF.items()
    )


def test_a_role_grants_the_maintenance_verb() -> None:
    assert any(role.name == MAINTAIN.role for role in DELEGATED)
