"""contracts.rbac.rules and contracts.installation.

Nothing that a server of secrets must never hold.
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
def test_no_right_is_for_everything(role: Role) -> None:
    assert not [right for right in role.rights if any("*" in part for part in parts(right))]


@pytest.mark.parametrize("role", HELD)
def test_secrets_are_never_listed_and_never_watched(role: Role) -> None:
    assert not verbs(of(role, "secrets")) & {"list", "watch", "deletecollection"}


@pytest.mark.parametrize("role", HELD)
def test_nodes_shells_and_webhooks_are_out_of_reach(role: Role) -> None:
    assert not {name for right in role.rights for name in right.resources} & NEVER


@pytest.mark.parametrize("role", HELD)
def test_definitions_are_read_by_name_and_never_written(role: Role) -> None:
    rights = of(role, "customresourcedefinitions")
    assert verbs(rights) <= READ_ONLY
    assert all(right.names for right in rights)


@pytest.mark.parametrize("role", HELD)
def test_nothing_of_the_whole_cluster_is_written(role: Role) -> None:
    for kind in ("clusterroles", "clusterrolebindings", "namespaces", "gatewayclasses"):
        allowed = READ_ONLY if role.account.endswith("controller") else READ_ONLY | {"patch"}
        assert verbs(of(role, kind)) <= allowed


def test_one_account_acts_as_another_and_as_that_one_alone() -> None:
    accounts = [
        (held.account, right.verbs, right.resources, len(right.names))
        for part in PARTS
        for held in part.roles
        for right in held.rights
        if set(right.verbs) & set(GRANTERS)
    ]
    expected = ("openbao-operator-provisioner", ("impersonate",), ("serviceaccounts",), 1)
    assert accounts in ([], [expected])


def test_where_objects_are_polled_nothing_is_listed() -> None:
    assert not {verb for right in POLLED for verb in right.verbs} & {"list", "watch"}


@pytest.mark.parametrize("role", HELD)
def test_each_right_says_why_and_stands_once(role: Role) -> None:
    assert all(right.why.endswith(".") and right.why[0].isupper() for right in role.rights)
    single = [
        (right.group, resource, verb, name)
        for right in role.rights
        for resource in right.resources
        for verb in right.verbs
        for name in right.names or ("",)
    ]
    assert len(single) == len(set(single))


def test_datacenters_and_their_sets_are_made_by_people_alone() -> None:
    held = [(part.name, role) for part in PARTS for role in part.roles]
    for kind, most in (
        ("datacenters", {"list", "watch", "patch"}),
        ("datacenters/status", {"patch"}),
        ("bootstrapservicesets", {"list", "watch"}),
    ):
        verbs_by_part = {part: verbs(of(name, kind)) for part, name in held if of(name, kind)}
        assert verbs_by_part == {"datacenters": most}, kind


def test_the_manifests_are_what_the_tables_say() -> None:
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
