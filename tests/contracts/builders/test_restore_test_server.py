"""The sidecar of a restore test: it has the image and the unseal keys of the servers."""

from typing import Any

import pytest

from contracts.builders.restore_test_server import (
    CONFIG_ANNOTATION,
    RESOLVER,
    RESOLVER_ANNOTATION,
    RESOURCES,
    Sidecar,
    restore_test_sidecar,
)
from contracts.hcl.render import ConfigInput, render_config
from contracts.hcl.restore_test_server import restore_test_config
from contracts.naming import mount_paths
from runtime.types import Object

CONFIG = render_config(ConfigInput("c", "ns"))
TRANSIT = CONFIG.replace('seal "static"', 'seal "transit"')


def servers(**container: Any) -> Object:
    """A StatefulSet with one server that has every kind of volume and variable."""
    mounts = {
        "config": mount_paths.CONFIG,
        "api-token": mount_paths.API_TOKEN,
        "tls": mount_paths.TLS,
        "data": mount_paths.DATA,
        "tmp": mount_paths.TMP,
        "unseal": mount_paths.UNSEAL,
        "audit": "/openbao/audit",
    }
    usual = {
        "name": "openbao",
        "image": "registry.example.com/openbao@sha256:1",
        "env": [
            {"name": "BAO_K8S_POD_NAME", "value": "c-0"},
            {"name": "BAO_API_ADDR", "value": "https://$(BAO_K8S_POD_NAME)"},
            {"name": "AWS_ACCESS_KEY_ID", "value": "k"},
        ],
        "volumeMounts": [{"name": name, "mountPath": path} for name, path in mounts.items()],
        "readinessProbe": {"httpGet": {}},
        "ports": [{"containerPort": 8200}],
    }
    volumes = [{"name": name, "secret": {"secretName": name}} for name in mounts if name != "data"]
    spec = {
        "containers": [usual | container],
        "volumes": volumes,
        "imagePullSecrets": [{"name": "login"}],
    }
    return {"metadata": {"name": "c"}, "spec": {"template": {"spec": spec}}}


def folders(sidecar: Sidecar) -> dict[str, Any]:
    """The volume source of each mount path."""
    sources = {volume["name"]: volume for volume in sidecar.volumes}
    return {
        mount["mountPath"]: next(
            value for key, value in sources[mount["name"]].items() if key != "name"
        )
        for mount in sidecar.container["volumeMounts"]
    }


def test_the_sidecar_has_the_image_and_the_configuration_of_the_servers() -> None:
    sidecar = restore_test_sidecar(servers(), CONFIG)
    assert sidecar.annotations[CONFIG_ANNOTATION] == restore_test_config(CONFIG)
    assert sidecar.container["image"] == "registry.example.com/openbao@sha256:1"
    assert sidecar.container["restartPolicy"] == "Always"
    assert sidecar.pull_secrets == ("login",)
    assert not {"ports", "readinessProbe", "livenessProbe"} & sidecar.container.keys()


def test_the_sidecar_mounts_only_the_unseal_keys() -> None:
    mounts = folders(restore_test_sidecar(servers(), CONFIG))
    assert mounts.pop(mount_paths.UNSEAL) == {"secretName": "unseal"}
    items = mounts.pop(mount_paths.CONFIG)["items"]
    assert {item["path"] for item in items} == {"config.hcl", "resolv.conf"}
    del mounts[RESOLVER]
    # Empty folders for its files and for the audit devices of the snapshot.
    assert mounts == {mount_paths.DATA: {}, mount_paths.TMP: {}, "/openbao/audit": {}}


def test_the_environment_has_only_variables_of_the_seal() -> None:
    env = {
        variable["name"]: variable["value"]
        for variable in restore_test_sidecar(servers(), CONFIG).container["env"]
    }
    assert env == {
        "AWS_ACCESS_KEY_ID": "k",
        "BAO_RAFT_NODE_ID": "restore-test",
        "KUBERNETES_SERVICE_HOST": "",
    }


def test_only_a_remote_seal_gets_a_name_resolver() -> None:
    local, remote = (
        restore_test_sidecar(servers(), CONFIG),
        restore_test_sidecar(servers(), TRANSIT),
    )
    assert "nameserver 127.0.0.1" in local.annotations[RESOLVER_ANNOTATION]
    assert RESOLVER in folders(local)
    assert RESOLVER_ANNOTATION not in remote.annotations
    assert RESOLVER not in folders(remote)


def test_the_sidecar_has_the_resources_of_the_servers_or_a_default() -> None:
    own = {"limits": {"memory": "8Gi"}}
    assert restore_test_sidecar(servers(resources=own), CONFIG).container["resources"] == own
    assert restore_test_sidecar(servers(), CONFIG).container["resources"] == RESOURCES


def test_a_stateful_set_without_a_server_is_refused() -> None:
    with pytest.raises(ValueError, match="no server"):
        restore_test_sidecar(servers(name="other"), CONFIG)
