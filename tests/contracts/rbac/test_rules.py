"""contracts.rbac.rules and contracts.installation.

No rule gives a permission that the operator must not have.
"""

from collections.abc import Iterable

import pytest
import yaml

from baoctl.generate.rbac import manifests, markdown
from contracts.installation import PARTS, Role
from contracts.rbac import rules
from contracts.rbac.rules import OBJECTS, OWN_WRITES, Right, as_read
from tests.house.checkout import ROOT

HELD = [pytest.param(held, id=f"{part.name}:{held.name}") for part in PARTS for held in part.roles]
POLLED = as_read((*OWN_WRITES, *OBJECTS), "poll")
GRANTERS = ("escalate", "bind", "impersonate")
NEVER = frozenset(
    {
        "nodes", "nodes/proxy", "pods/exec", "pods/attach", "pods/portforward", "pods/proxy",
        "services/proxy", "mutatingwebhookconfigurations", "validatingwebhookconfigurations",
        "certificatesigningrequests", "persistentvolumes",
    }
)  # fmt: skip
READ_ONLY = frozenset({"get", "list", "watch"})


def parts(right: Right) -> Iterable[str]:
    return (right.group, *right.resources, *right.verbs, *right.names)


def of(held: Role, resource: str) -> list[Right]:
    return [right for right in held.rights if resource in right.resources]


def verbs(rights: Iterable[Right]) -> set[str]:
    return {verb for right in rights for verb in right.verbs}


@pytest.mark.parametrize("role", HELD)
def test_no_rule_has_a_wildcard(role: Role) -> None:
    assert not [right for right in role.rights if any("*" in part for part in parts(right))]


@pytest.mark.parametrize("role", HELD)
def test_secrets_are_never_listed_and_never_watched(role: Role) -> None:
    assert not verbs(of(role, "secrets")) & {"list", "watch", "deletecollection"}


@pytest.mark.parametrize("role", HELD)
def test_nodes_exec_and_webhooks_are_not_accessible(role: Role) -> None:
    assert not {name for right in role.rights for name in right.resources} & NEVER


@pytest.mark.parametrize("role", HELD)
def test_crds_are_read_by_name_and_never_written(role: Role) -> None:
    rights = of(role, "customresourcedefinitions")
    assert verbs(rights) <= READ_ONLY
    assert all(right.names for right in rights)


@pytest.mark.parametrize("role", HELD)
def test_cluster_scoped_objects_are_not_written(role: Role) -> None:
    for kind in ("clusterroles", "clusterrolebindings", "namespaces", "gatewayclasses"):
        allowed = READ_ONLY if role.account.endswith("controller") else READ_ONLY | {"patch"}
        assert verbs(of(role, kind)) <= allowed


def test_only_the_provisioner_may_impersonate_one_account() -> None:
    accounts = [
        (held.account, right.verbs, right.resources, len(right.names))
        for part in PARTS
        for held in part.roles
        for right in held.rights
        if set(right.verbs) & set(GRANTERS)
    ]
    expected = ("openbao-operator-provisioner", ("impersonate",), ("serviceaccounts",), 1)
    assert accounts in ([], [expected])


def test_in_polling_mode_nothing_is_listed_or_watched() -> None:
    assert not {verb for right in POLLED for verb in right.verbs} & {"list", "watch"}


@pytest.mark.parametrize("role", HELD)
def test_each_rule_has_a_reason_and_is_unique(role: Role) -> None:
    assert all(right.why.endswith(".") and right.why[0].isupper() for right in role.rights)
    single = [
        (right.group, resource, verb, name)
        for right in role.rights
        for resource in right.resources
        for verb in right.verbs
        for name in right.names or ("",)
    ]
    assert len(single) == len(set(single))


def test_the_operator_does_not_create_datacenters_or_service_sets() -> None:
    held = [(part.name, role) for part in PARTS for role in part.roles]
    for kind, most in (
        ("datacenters", {"list", "watch", "patch"}),
        ("datacenters/status", {"patch"}),
        ("bootstrapservicesets", {"list", "watch"}),
    ):
        verbs_by_part = {part: verbs(of(name, kind)) for part, name in held if of(name, kind)}
        assert verbs_by_part == {"datacenters": most}, kind


def test_the_manifests_are_up_to_date() -> None:
    for path, manifest in manifests().items():
        assert (ROOT / path).read_text(encoding="utf-8") == manifest, "run: make crd"
    assert markdown() in (ROOT / "docs/security.md").read_text(encoding="utf-8"), "run: make crd"


def test_the_manifests_hold_the_rules_of_the_tables_and_no_others() -> None:
    names = [
        (path.parent.name, obj["metadata"]["name"], obj["rules"])
        for path, text in manifests().items()
        if path.name == "rbac.yaml"
        for obj in yaml.safe_load_all(text)
        if "rules" in obj
    ]
    assert names == [
        (part.name, held.name, rules.rules(held.rights)) for part in PARTS for held in part.roles
    ]
