"""managers.bootstrap.server_pod_part: a pod has only the volumes that its configuration names."""

from typing import Any

import pytest

from contracts.builders.pod_part import PodPart
from contracts.hcl.render import ConfigInput, render_config
from contracts.naming import mount_paths
from managers.bootstrap.server_pod_part import audit_volume, server_part
from tests import gen

PIN = {"version": "v1", "sha256sum": "0" * 64}
IMAGE = {"type": "secret", "name": "a", "image": "registry.example.com/a", "binaryName": "a", **PIN}
COMMAND = {"type": "secret", "name": "a", "command": "a", **PIN}
EMPTY: dict[str, Any] = {"emptyDir": {}}


def part(**spec: Any) -> PodPart:
    cluster = gen.cluster().with_spec(**spec).read().spec
    return server_part(cluster, audit_volume("x", cluster.audit_file_storage))


def test_a_plain_cluster_has_no_volumes() -> None:
    assert part() == PodPart()


def test_a_log_file_has_an_empty_dir() -> None:
    for name in ("file", "pidFile"):
        pod_part = part(configuration={"logging": {name: f"{mount_paths.LOGS}/x"}})
        assert pod_part.mounts == ({"name": "logs", "mountPath": mount_paths.LOGS},)
        assert pod_part.volumes == ({"name": "logs", **EMPTY},)


LOGS = {"name": "logs", "mountPath": mount_paths.LOGS}
SYSTEM_LOGS = {"name": "logs", "mountPath": mount_paths.SYSTEM_LOGS}


@pytest.mark.parametrize(
    ("audit", "mounts"),
    [
        (None, [LOGS, SYSTEM_LOGS]),
        ("/audit", [LOGS, SYSTEM_LOGS, {"name": "audit", "mountPath": "/audit"}]),
        # The log is on the volume of the user.
        ("/var/log", [LOGS, {"name": "audit", "mountPath": "/var/log"}]),
        ("/var/log/openbao", [LOGS, {"name": "audit", "mountPath": "/var/log/openbao"}]),
    ],
)
def test_a_log_file_below_the_logs_of_the_system_has_the_same_volume(
    audit: str | None, mounts: list[dict[str, str]]
) -> None:
    storage = {"mode": "ManagedPVC", "size": "1Gi", "mountPath": audit} if audit else None
    logging = {"file": f"{mount_paths.SYSTEM_LOGS}/openbao.log"}
    pod_part = part(configuration={"logging": logging}, auditFileStorage=storage)
    assert list(pod_part.mounts) == mounts
    assert {"name": "logs", **EMPTY} in pod_part.volumes


def test_b11_a_plugin_folder_is_configured_only_if_it_exists() -> None:
    """The server does not start if plugin_directory names a directory that does not exist."""
    cases: tuple[tuple[dict[str, Any], bool, bool], ...] = (
        ({}, False, False),
        ({"plugins": [IMAGE]}, True, True),
        # The image contains the directory; a volume would hide its content.
        ({"plugins": [COMMAND]}, True, False),
    )
    for spec, named, mounted in cases:
        cluster = gen.cluster().with_spec(version="2.5.5", **spec).read()
        text = render_config(ConfigInput.of(cluster, None))
        assert ("plugin_directory" in text) is named
        mounts = part(version="2.5.5", **spec).mounts
        assert mounts == (
            ({"name": "plugins", "mountPath": mount_paths.PLUGINS},) if mounted else ()
        )


@pytest.mark.parametrize(
    ("storage", "claim"),
    [
        ({"mode": "ManagedPVC", "size": "1Gi"}, "x-audit"),
        ({"mode": "ExistingPVC", "existingClaimName": "mine"}, "mine"),
    ],
)
def test_audit_files_are_on_their_pvc(storage: dict[str, Any], claim: str) -> None:
    pod_part = part(auditFileStorage={**storage, "mountPath": "/srv/audit"})
    assert pod_part.mounts == ({"name": "audit", "mountPath": "/srv/audit"},)
    assert pod_part.volumes == ({"name": "audit", "persistentVolumeClaim": {"claimName": claim}},)


@pytest.mark.parametrize(
    ("metrics", "number"),
    [
        ({"enabled": False, "scrapeProfile": "AllNodes"}, None),
        ({"enabled": True}, None),
        ({"enabled": True, "scrapeProfile": "AllNodes"}, 8202),
        ({"enabled": True, "metricsOnlyListener": {"enabled": True, "port": 9000}}, 9000),
        ({"enabled": True, "metricsOnlyListener": {"port": 9000}}, None),
    ],
)
def test_the_metrics_port_is_open_only_with_a_listener(
    metrics: dict[str, Any], number: int | None
) -> None:
    spec = {"version": "2.5.5", "observability": {"metrics": metrics}}
    expected = (
        () if number is None else ({"name": "metrics", "containerPort": number, "protocol": "TCP"},)
    )
    assert part(**spec).ports == expected
    text = render_config(ConfigInput.of(gen.cluster().with_spec(**spec).read(), None))
    assert text.count('listener "tcp"') == 1 + len(expected)
    assert (f'"[::]:{number}"' in text) is bool(expected)
