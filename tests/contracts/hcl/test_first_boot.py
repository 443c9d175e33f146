"""The self-init document: the requests of the operator, their order, the policies of roles."""

import os
import re
from dataclasses import replace
from typing import Any

import pytest
import yaml

from contracts.api.cluster.job_roles import DEFAULTS, OPERATOR_ROLE
from contracts.api.cluster.self_init import SelfInitRequest
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.rules.cluster import violations
from contracts.api.rules.self_init_requests import RECOVERY_BLOCK
from contracts.hcl.render import ConfigInput, render_self_init
from contracts.hcl.roles import backup_role, operator_role, restore_role, upgrade_role
from contracts.hcl.self_init import AUTOPILOT_BLOCK, AUTOPILOT_PATH
from contracts.naming import names
from contracts.server_features import since
from tests.contracts.hcl.golden_cases import GOLDEN, read_case
from tests.contracts.hcl.parse_back import parse

NEWER = GOLDEN / "newer" / "first-boot"
ME = ("system:serviceaccount:ns:me",)


def blocks_of(config: ConfigInput) -> list[str]:
    return list(_initialize(config))


def _initialize(config: ConfigInput) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for block in parse(render_self_init(config)).get("initialize", ()):
        merged |= block
    return merged


def _data(config: ConfigInput, block: str, request: str) -> Any:
    calls = [inner[request] for inner in _initialize(config)[block]["request"] if request in inner]
    (call,) = calls
    return call["data"]


def test_features_of_a_newer_server_are_rendered() -> None:
    """UPDATE_GOLDEN=1 writes it anew; read the difference before it is committed."""
    obj = yaml.safe_load((NEWER / "cluster.yaml").read_text(encoding="utf-8"))
    cluster = OpenBaoCluster.from_object(obj)
    assert violations(cluster) == ()
    text = render_self_init(ConfigInput.of(cluster, None))
    file = NEWER / "self-init.hcl"
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(text, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("feature", ["self-init-when", "self-init-headers"])
def test_an_older_server_is_refused_by_name(feature: str) -> None:
    obj = yaml.safe_load((NEWER / "cluster.yaml").read_text(encoding="utf-8"))
    obj["spec"]["version"] = "2.5.9"
    rule_violations = violations(OpenBaoCluster.from_object(obj))
    field = feature.removeprefix("self-init-")
    assert any(
        violation.field.endswith(f".{field}") and since(feature) in violation.message
        for violation in rule_violations
    )


def test_the_operators_login_comes_first_and_its_own_requests_last() -> None:
    order = blocks_of(read_case("first-boot"))
    assert order == ["operator-bootstrap", "userpass", AUTOPILOT_BLOCK, RECOVERY_BLOCK]


def test_an_autopilot_request_of_the_user_replaces_ours() -> None:
    config = read_case("first-boot")
    mine = {"operation": "update", "data": {"min_quorum": 5}}
    for own in ({"name": AUTOPILOT_BLOCK, "path": "x"}, {"name": "a", "path": AUTOPILOT_PATH}):
        request = SelfInitRequest.model_validate({**mine, **own})
        order = blocks_of(replace(config, requests=(request,)))
        assert order.count(AUTOPILOT_BLOCK) == (own["name"] == AUTOPILOT_BLOCK)


def test_servers_of_a_new_cluster_vote_soon_if_the_operator_can_reset_the_time() -> None:
    config = read_case("first-boot")
    without_login = replace(config, oidc=None)
    with_root_token = replace(without_login, root_token_file="/token")
    times = [
        _data(config_input, AUTOPILOT_BLOCK, f"{AUTOPILOT_BLOCK}-request")[
            "server_stabilization_time"
        ]
        for config_input in (config, with_root_token, without_login)
    ]
    assert times == ["2s", "2s", "10s"]


def test_a_single_server_gets_no_autopilot_request() -> None:
    obj = yaml.safe_load((GOLDEN / "first-boot" / "cluster.yaml").read_text(encoding="utf-8"))
    obj["spec"] |= {"replicas": 1, "recoveryKeys": None}
    config = ConfigInput.of(OpenBaoCluster.from_object(obj), None)
    assert AUTOPILOT_BLOCK not in blocks_of(config)


def test_one_subject_is_a_string_and_several_are_a_list() -> None:
    config = read_case("first-boot")
    upgrade = _data(config, "operator-bootstrap", "operator-upgrade-role")
    assert upgrade["bound_subject"] == "system:serviceaccount:bank:whole-upgrade-serviceaccount"
    assert "bound_claims" not in upgrade
    restore = _data(config, "operator-bootstrap", "operator-restore-role")
    assert "bound_subject" not in restore
    assert restore["bound_claims"]["sub"] == [
        "system:serviceaccount:bank:whole-restore-serviceaccount",
        "system:serviceaccount:tools:runner",
    ]


def test_the_user_may_name_a_role_but_not_its_policy() -> None:
    backup = _data(read_case("first-boot"), "operator-bootstrap", "operator-backup-role")
    assert backup["token_policies"] == [DEFAULTS["backup"]]
    assert "auth/jwt-operator/role/nightly" in render_self_init(read_case("first-boot"))


def test_the_backup_role_exists_without_backups() -> None:
    role = f"auth/jwt-operator/role/{DEFAULTS['backup']}"
    assert role in render_self_init(read_case("quickstart"))


RIGHTS = {
    "the operator": (
        operator_role(ME),
        {
            "sys/health": "read",
            "sys/step-down": "sudo update",
            "sys/storage/raft/configuration": "read",
            "sys/storage/raft/remove-peer": "update",
            "sys/storage/raft/autopilot/configuration": "read update",
            "sys/storage/raft/autopilot/state": "read",
            "auth/jwt-operator/config": "read update",
        },
    ),
    "a backup": (
        backup_role("b", ME),
        {
            "sys/storage/raft/snapshot": "read",
            "sys/mounts": "read",
            "sys/policies/acl/openbao-operator-backup": "read",
        },
    ),
    "a backup with a canary": (
        backup_role("b", ME, canary="secret/data/canary"),
        {
            "sys/storage/raft/snapshot": "read",
            "sys/mounts": "read",
            "sys/policies/acl/openbao-operator-backup": "read",
            "secret/data/canary": "read",
        },
    ),
    "a restore": (
        restore_role("r", ME),
        {"sys/storage/raft/snapshot": "update", "sys/storage/raft/snapshot-force": "update"},
    ),
    "a rolling upgrade": (
        upgrade_role("u", ME, blue_green=False),
        {
            "sys/health": "read",
            "sys/step-down": "sudo update",
            "sys/storage/raft/snapshot": "read",
            "sys/storage/raft/autopilot/state": "read",
        },
    ),
    "a blue/green upgrade": (
        upgrade_role("u", ME, blue_green=True),
        {
            "sys/health": "read",
            "sys/step-down": "sudo update",
            "sys/storage/raft/snapshot": "read",
            "sys/storage/raft/autopilot/state": "read",
            "sys/storage/raft/join": "update",
            "sys/storage/raft/configuration": "read update",
            "sys/storage/raft/remove-peer": "update",
            "sys/storage/raft/promote": "update",
            "sys/storage/raft/demote": "update",
        },
    ),
}


@pytest.mark.parametrize("case", RIGHTS)
def test_each_role_has_exactly_these_rights(case: str) -> None:
    role, expected = RIGHTS[case]
    assert {path: " ".join(rights) for path, rights in role.rights.items()} == expected
    assert len(parse(role.policy_text())["path"]) == len(expected)


def test_only_an_operator_that_distributes_recovery_keys_may_read_them() -> None:
    path = "sys/rotate/recovery/backup"
    assert path not in operator_role(ME).rights
    assert operator_role(ME, hands_over=True).rights[path] == ("read",)
    assert operator_role(ME, rewraps=True).rights["sys/rotate/root"] == ("sudo", "update")
    assert "sys/rotate/root" not in operator_role(ME).rights
    assert operator_role(ME).name == OPERATOR_ROLE


ROW = re.compile(r"^\| `(openbao-operator[a-z-]*)` \| (.+?) \| .+? \| (.+?) \|$", re.MULTILINE)
DOCUMENTED = {
    OPERATOR_ROLE: operator_role(ME),
    DEFAULTS["backup"]: backup_role("b", ME),
    DEFAULTS["upgrade"]: upgrade_role("u", ME, blue_green=False),
    DEFAULTS["restore"]: restore_role("r", ME),
}


def test_the_rights_in_the_document_are_those_of_the_roles() -> None:
    text = (GOLDEN.parents[1] / "docs" / "first-boot.md").read_text(encoding="utf-8")
    accounts = {name: (account, rights) for name, account, rights in ROW.findall(text)}
    assert set(accounts) == set(DOCUMENTED)
    for name, role in DOCUMENTED.items():
        expected = "; ".join(f"`{path}` {' '.join(rights)}" for path, rights in role.rights.items())
        assert accounts[name][1] == expected, name
    for job, name in DEFAULTS.items():
        assert accounts[name][
            0
        ] == f"`{names.job_service_account('<name>'.strip('<>'), job)}`".replace("name-", "<name>-")


EMPTY = {"eval_source": "cel", "eval_type": "any", "expression": "[]"}


def _request_body(version: str, data: dict[str, Any]) -> Any:
    wish = {"name": "w", "operation": "update", "path": "secret/w", "data": data}
    requests = (SelfInitRequest.model_validate(wish),)
    return _data(ConfigInput("c", "ns", version=version, requests=requests), "w", "w-request")


def test_an_empty_list_is_rendered_as_an_expression() -> None:
    options = {"eval_source": "response", "eval_type": "any", "field_selector": []}
    data = {"a": [], "b": {"c": [[], 1]}, "d": "[]", "e": {"f": options}}
    assert _request_body("2.5.9", data) == data
    assert _request_body("2.6.0", data) == {
        "a": EMPTY,
        "b": {"c": [EMPTY, 1]},
        "d": "[]",
        "e": {"f": options},
    }
