"""Attacks on settings of the operator through settings of the user.

Numbers are those of the attack list in the reliability requirements. T02, hostile text read back
with the server's own parser, is tests/integration/test_hostile_text.py.
"""

from typing import Any

import pytest

from contracts.api.cluster.audit import ACCEPTED_OPTIONS
from contracts.api.rules.cluster import violations
from contracts.api.violation import InvalidClusterError
from contracts.hcl.render import ConfigInput, render_config
from contracts.naming import mount_paths
from managers.workload.objects.pod import pod_template
from tests import gen
from tests.contracts.api.clusters import cluster, with_request
from tests.contracts.hcl.parse_back import parse

RESERVED = (
    "api_addr", "audit", "cluster_addr", "cluster_name", "disable_clustering", "ha_storage",
    "initialize", "listener", "node_id", "path", "plugin", "plugin_directory", "retry_join",
    "seal", "service_registration", "storage", "tls_disable", "type", "ui",
)  # fmt: skip
PLAIN = parse(render_config(ConfigInput.of(cluster(), None)))


def operator_parts(document: Any) -> Any:
    """The parts of a document that only the operator sets."""
    return {
        key: document.get(key)
        for key in ("cluster_name", "listener", "seal", "storage", "service_registration")
    }


@pytest.mark.parametrize("key", RESERVED)
@pytest.mark.parametrize("kind", sorted(ACCEPTED_OPTIONS))
def test_attack_t03_reserved_keys_among_audit_options_are_refused(kind: str, key: str) -> None:
    block = {"file": {"filePath": "stdout"}, "http": {"uri": "https://a.example.com"}}.get(kind)
    device = {"type": kind, "path": "x", "options": {key: "x"}}
    if block:
        device[f"{kind}Options"] = block
    rule_violations = violations(cluster(version="2.5.5", audit=[device]))
    assert [(item.field, item.rule, item.value) for item in rule_violations] == [
        ("spec.audit[0].options", "audit-options-known", key)
    ]


@pytest.mark.parametrize("key", RESERVED)
def test_attack_t03_unknown_fields_of_typed_blocks_reach_no_document(key: str) -> None:
    """The API server drops them; the operator ignores them or refuses the type."""
    spec: dict[str, Any] = {
        "configuration": {
            key: "x",
            "listener": {key: "x"},
            "raft": {key: "x"},
            "plugin": {key: "x"},
            "logging": {key: "x"},
        },
        "telemetry": {key: "x", "metricsPrefix": "p"},
        "observability": {key: "x", "metrics": {"enabled": True, key: "x"}},
    }
    try:
        hostile = cluster(**spec)
    except InvalidClusterError:
        return
    assert operator_parts(parse(render_config(ConfigInput.of(hostile, None)))) == operator_parts(
        PLAIN
    )


@pytest.mark.parametrize("key", RESERVED)
def test_attack_t03_reserved_keys_in_data_stay_data(key: str) -> None:
    """Headers and the payload of requests are free data of the user, rendered as values."""
    hostile = cluster(
        version="2.5.5",
        audit=[
            {
                "type": "http",
                "path": "x",
                "httpOptions": {"uri": "https://a.example.com", "headers": {key: ["x"]}},
            }
        ],
        selfInit=with_request(data={key: {key: "x"}}),
    )
    document = parse(render_config(ConfigInput.of(hostile, None)))
    assert operator_parts(document) == operator_parts(PLAIN)
    (device,) = document["audit"]
    assert device["http"]["x"]["options"]["headers"] == f'{{"{key}": ["x"]}}'


@pytest.mark.parametrize("payload", ["$(id)", "; id", "a\nid", "`id`", "$BAO_TOKEN", "$(HOME)"])
def test_attack_t08_text_of_the_spec_is_in_no_command_line(payload: str) -> None:
    """The server is started from a list of arguments, with no shell in between, and Kubernetes
    would expand $(NAME) in them: nothing of a user is among them, nor among the variables."""
    plugin = {
        "type": "secret",
        "name": "p",
        "command": "p",
        "version": payload,
        "sha256sum": "0" * 64,
        "args": [payload],
        "env": [f"A={payload}"],
    }
    hostile = gen.cluster().with_spec(
        version="2.5.5",
        plugins=[plugin],
        telemetry={"metricsPrefix": payload},
        audit=[
            {
                "type": "file",
                "path": "f",
                "description": payload,
                "fileOptions": {"filePath": "stdout"},
            }
        ],
    )
    assert violations(hostile.read()) == ()

    def server(cluster: gen.Cluster) -> Any:
        template = pod_template(gen.resolved(cluster), digest="d", reload="r", first_boot=True)
        (container,) = template["spec"]["containers"]
        return container

    hostile_server, plain = server(hostile), server(gen.cluster())
    assert hostile_server["command"] == plain["command"]
    assert hostile_server["command"][0] == "bao"
    assert "args" not in hostile_server
    assert hostile_server["env"] == plain["env"]
    document = parse(render_config(gen.resolved(hostile).config))
    (stanza,) = document["plugin"]
    assert stanza["secret"]["p"]["args"] == [payload]
    assert stanza["secret"]["p"]["env"] == [f"A={payload}"]


PLACES = (
    f"{mount_paths.DATA}/vault.db",
    f"{mount_paths.DATA}/raft/raft.db",
    f"{mount_paths.TLS}/tls.key",
    f"{mount_paths.UNSEAL}/key",
    f"{mount_paths.CONFIG}/config.hcl",
    f"{mount_paths.PLUGINS}/plugin",
    "/usr/bin/bao",
    "/proc/self/mem",
    "/dev/sda",
    "relative.log",
    "",
    "/",
    f"{mount_paths.LOGS}",
    f"{mount_paths.LOGS}/",
    f"{mount_paths.LOGS}/../data/vault.db",
    f"{mount_paths.LOGS}/./../../bao/data/vault.db",
    f"{mount_paths.LOGS}x/file",
    f"{mount_paths.LOGS}//file",
    f"{mount_paths.AUDIT}/../../bao/data/vault.db",
    "/tmp/../bao/data/vault.db",  # noqa: S108  a path in a pod
    f"{mount_paths.LOGS}/a\nb",
    f"{mount_paths.LOGS}/\u202etxt",
    f"{mount_paths.LOGS}/$(id)",
    f"{mount_paths.LOGS}/{{{{ GetPrivateIP }}}}",
)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("field", ["file", "pidFile"])
def test_attack_t21_a_log_is_written_to_its_own_folders_only(field: str, place: str) -> None:
    rule_violations = violations(cluster(configuration={"logging": {field: place}}))
    assert [item.field for item in rule_violations] == [f"spec.configuration.logging.{field}"]
    assert rule_violations[0].rule == "log-place"


@pytest.mark.parametrize("place", [place for place in PLACES if place])
@pytest.mark.parametrize("typed", [True, False])
def test_attack_t21_an_audit_file_is_written_to_its_own_volume_only(
    place: str, typed: bool
) -> None:
    options = {"fileOptions": {"filePath": place}} if typed else {"options": {"file_path": place}}
    device = {"type": "file", "path": "x", **options}
    rule_violations = violations(cluster(audit=[device]))
    rule = "audit-file-place" if typed else "audit-file-place-options"
    assert [item.rule for item in rule_violations] == [rule]
    with_volume = {"mode": "ManagedPVC", "size": "1Gi"}
    rule_violations = violations(cluster(audit=[device], auditFileStorage=with_volume))
    assert [item.rule for item in rule_violations] == [rule]


@pytest.mark.parametrize(
    "command", ["/bin/sh", "../bao", "a/b", "sh -c id", "$(id)", "a;b", "a\nb", "-a", ".", ".."]
)
def test_attack_t21_a_plugin_is_a_file_in_the_plugin_folder(command: str) -> None:
    plugin = {"type": "secret", "name": "p", "version": "v1", "sha256sum": "0" * 64}
    rule_violations = violations(cluster(version="2.5.5", plugins=[{**plugin, "command": command}]))
    assert [item.rule for item in rule_violations] == ["plugin-file-name"]
    image = {**plugin, "image": "registry.example.com/p", "binaryName": command}
    rule_violations = violations(cluster(version="2.5.5", plugins=[image]))
    assert [item.rule for item in rule_violations] == ["plugin-file-name"]


@pytest.mark.parametrize(
    "folder",
    [
        "/etc",
        "/etc/bao",
        "/bao",
        "/bao/data",
        "/bao/data/audit",
        "/usr/bin",
        "/openbao",
        "/openbao/plugins",
        "/tmp/x",  # noqa: S108  a path in a pod
        "/proc",
        "/var/run/secrets",
        "/var",
    ],
)
def test_attack_t21_an_audit_volume_is_not_mounted_over_other_folders(folder: str) -> None:
    storage = {"mode": "ManagedPVC", "size": "1Gi", "mountPath": folder}
    rule_violations = violations(cluster(auditFileStorage=storage))
    assert [item.rule for item in rule_violations] == ["audit-mount-place"]


@pytest.mark.parametrize("folder", ["/openbao/audit", "/srv/audit", "/var/log/openbao", "/audit"])
def test_a_folder_of_its_own_may_hold_the_audit_volume(folder: str) -> None:
    storage = {"mode": "ManagedPVC", "size": "1Gi", "mountPath": folder}
    device = {"type": "file", "path": "x", "fileOptions": {"filePath": f"{folder}/a.log"}}
    assert violations(cluster(auditFileStorage=storage, audit=[device])) == ()
