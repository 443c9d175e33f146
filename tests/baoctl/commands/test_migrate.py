"""`baoctl migrate`: each rule of the table, and the validity of the output."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from baoctl.cli import main
from baoctl.commands.migrate import RULES, migrate
from baoctl.exit_codes import ExitCode
from contracts.api.group import API_VERSION
from tests.house.checkout import ROOT

OLD = ROOT / "tests" / "golden" / "other-operator" / "cluster.cr.yaml"
ACME: dict[str, Any] = {"mode": "ACME", "acme": {"directoryURL": "https://a.example.com/d"}}
FROM = [{"podSelector": {"matchLabels": {"app": "a"}}}]
HARDENED: dict[str, Any] = {
    "profile": "Hardened",
    "network": {"ingressRules": [{"from": FROM, "ports": [{"port": 8200}]}]},
}
BACKUP: dict[str, Any] = {
    "schedule": "0 3 * * *",
    "target": {"endpoint": "https://s3.example.com", "bucket": "b"},
}


def cluster(**spec: Any) -> dict[str, Any]:
    base = {"version": "2.7.2", "replicas": 3, "profile": "Development", "storage": {"size": "1Gi"}}
    return {
        "apiVersion": API_VERSION,
        "kind": "OpenBaoCluster",
        "metadata": {"name": "vault"},
        "spec": {**base, **spec},
    }


CASES: dict[str, tuple[dict[str, Any], str, Any]] = {
    "spec.initContainer": ({"initContainer": {"enabled": True}}, "initContainer", None),
    "spec.maintenance.restartAt": (
        {"maintenance": {"restartAt": "a"}},
        "runtime",
        {"restartAt": "a"},
    ),
    "spec.version": ({"image": "registry.example.com/openbao:2.6.0"}, "version", "2.6.0"),
    "spec.configuration.logging.file": (
        {"configuration": {"logging": {"file": "/var/log/bao/bao.log", "level": "info"}}},
        "configuration",
        {"logging": {"level": "info"}},
    ),
    "spec.tls.acme.sharedCache": (
        {"tls": ACME},
        "tls",
        {
            "mode": "ACME",
            "acme": {**ACME["acme"], "sharedCache": {"mode": "ManagedPVC", "size": "1Gi"}},
        },
    ),
    "spec.network.ingressRules": (HARDENED, "network", {"trustedIngressPeers": FROM}),
    "spec.backup.image": ({"backup": {**BACKUP, "image": "a/backup:1"}}, "backup", BACKUP),
    "spec.upgrade.image": (
        {"upgrade": {"executorImage": "a/upgrade:1", "preUpgradeSnapshot": True}},
        "upgrade",
        {"preUpgradeSnapshot": True},
    ),
}


@pytest.mark.parametrize("rule", RULES, ids=lambda case: case.field)
def test_each_rule_changes_its_field_and_reports_the_reason(rule: Any) -> None:
    spec, field, expected = CASES[rule.field]
    before = cluster(**copy.deepcopy(spec))
    done = migrate(before)
    assert before == cluster(**spec), "the argument is not modified"
    assert done.document["spec"].get(field) == expected
    assert [
        change for change in done.changes if change.startswith(rule.field) and rule.reason in change
    ]
    again = migrate(done.document)
    assert (again.document, again.changes) == (done.document, ()), "a second time changes nothing"


@pytest.mark.parametrize(
    "spec",
    [
        {"configuration": {"logging": {"file": "/openbao/logs/bao.log"}}},
        {"configuration": {"logging": {"file": "/var/log/openbao/bao.log"}}},
        {"image": "registry.example.com/openbao:2.7.2"},
        {"tls": ACME, "replicas": 1},
        {"network": HARDENED["network"]},
        {
            "profile": "Hardened",
            "network": {"ingressRules": [{"from": FROM, "ports": [{"port": 9000}]}]},
        },
    ],
)
def test_a_valid_or_different_field_is_unchanged(spec: dict[str, Any]) -> None:
    assert migrate(cluster(**spec)).document == cluster(**spec)


def test_a_decision_for_the_user_is_reported_and_not_made() -> None:
    done = migrate(cluster(ingress={"enabled": True, "host": "bao.example.com"}))
    assert any("spec.network.trustedIngressPeers" in item for item in done.open_decisions)


@pytest.mark.parametrize(
    ("ports", "is_unresolved"),
    [([{"port": 443}], False), ([{"protocol": "TCP"}], True)],
    ids=["a port", "all ports"],
)
def test_hardened_egress_to_all_addresses_needs_ports(
    ports: list[dict[str, Any]], is_unresolved: bool
) -> None:
    rule = {"to": [{"ipBlock": {"cidr": "0.0.0.0/0"}}], "ports": ports}
    done = migrate(cluster(profile="Hardened", network={"egressRules": [rule]}))
    assert done.document["spec"]["network"] == {"egressRules": [rule]}
    assert any("spec.network.egressRules" in item for item in done.open_decisions) is is_unresolved


def test_fields_of_the_api_server_are_removed() -> None:
    live = cluster()
    live["metadata"] |= {"uid": "u", "resourceVersion": "7", "labels": {"a": "b"}}
    done = migrate({**live, "status": {"phase": "Running"}})
    assert done.document["metadata"] == {"name": "vault", "labels": {"a": "b"}}
    assert "status" not in done.document


def run(content: str, folder: Path) -> Result:
    file = folder / "old.yaml"
    file.write_text(content, encoding="utf-8")
    return CliRunner().invoke(main, ["migrate", "-f", str(file)])


def test_the_manifest_of_the_other_operator_is_converted(tmp_path: Path) -> None:
    done = run(OLD.read_text(encoding="utf-8"), tmp_path)
    assert done.exit_code == 0, done.output
    (printed,) = yaml.safe_load_all(done.stdout)
    assert "initContainer" not in printed["spec"]
    assert "changed: spec.initContainer: removed" in done.stderr


def test_unknown_fields_are_left_and_named() -> None:
    done = migrate(cluster(replica=5, selfInit={"enabled": True, "bootstrapJWTAuth": True}))
    unknown = [
        item for item in done.open_decisions if "there is no such field; correct or remove" in item
    ]
    assert [item.partition(" ")[0] for item in unknown] == [
        "spec.replica",
        "spec.selfInit.bootstrapJWTAuth:",
    ]
    assert "did you mean replicas or readReplicas?" in unknown[0]


@pytest.mark.parametrize(
    ("kind", "spec"),
    [("OpenBaoRestore", {"cluster": "vault", "sorce": {}}), ("OpenBaoTenant", {"quotas": {}})],
)
def test_unknown_fields_of_other_kinds_are_named(kind: str, spec: dict[str, Any]) -> None:
    done = migrate({**cluster(), "kind": kind, "spec": spec})
    assert any("there is no such field" in item for item in done.open_decisions)


def test_the_image_of_a_restore_is_removed() -> None:
    spec = {"cluster": "vault", "source": {"backup": "b"}, "image": "a/backup:1"}
    done = migrate({**cluster(), "kind": "OpenBaoRestore", "spec": spec})
    assert "image" not in done.document["spec"]
    assert any(change.startswith("spec.image: removed a/backup:1") for change in done.changes)


def test_each_explanation_is_one_printable_line(tmp_path: Path) -> None:
    done = run(yaml.safe_dump(cluster(backup={**BACKUP, "image": "a\nb\x1b[2J"})), tmp_path)
    (line,) = done.stderr.splitlines()
    assert "spec.backup.image: removed a\\nb\\x1b[2J" in line


def test_what_is_left_is_an_exit_status_of_its_own(tmp_path: Path) -> None:
    restore = {
        "apiVersion": API_VERSION,
        "kind": "OpenBaoRestore",
        "metadata": {"name": "r"},
        "spec": {
            "cluster": "vault",
            "source": {
                "key": "a/b.snap",
                "target": {"endpoint": "http://s3.example.com", "bucket": "b"},
            },
        },
    }
    items = {"apiVersion": "v1", "kind": "List", "items": [cluster(), restore]}
    done = run(yaml.safe_dump(items), tmp_path)
    assert done.exit_code == ExitCode.REFUSED
    assert "OpenBaoRestore r: decide: spec.source.target.endpoint" in done.stderr
    assert "OpenBaoCluster vault: needs no change" in done.stderr
    assert len(list(yaml.safe_load_all(done.stdout))) == 2


def test_a_text_without_an_object_of_the_api_group_is_refused(tmp_path: Path) -> None:
    done = run("kind: Pod\napiVersion: v1\n", tmp_path)
    assert done.exit_code == ExitCode.NOT_FOUND
    assert "no object of openbao.org/v1alpha1" in done.stderr
