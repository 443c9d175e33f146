"""Every field of a body in the pod, within the Pod Security Standard "restricted"."""

from typing import Any

import pytest

from contracts.datacenter import names
from contracts.datacenter.workload_records import Vault
from contracts.naming import labels
from managers.datacenter.provider.pod_template import (
    FILES_VOLUME,
    config_files,
    file_key,
    pod_template,
    volumes_by_name,
)
from runtime.apply.intent import digest
from runtime.types import Object
from tests.managers.datacenter import bodies

IMAGE = bodies.IMAGE
VAULT = Vault("vault", "https://v:8200", "v-tls-ca", ("k/a", "k/b"))
MARKS = {names.SYSTEM: "true", names.DATACENTER: "fra1", names.BOOTSTRAP: "shipper"}
CONFINED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def template(
    *parts: Any, vaults: tuple[Vault, ...] = (), redeploy: str = "", **body: Any
) -> Object:
    service = bodies.service(
        "shipper", services=parts or ({"name": "main", "image": IMAGE},), **body
    )
    return pod_template(bodies.record(bodies.desired_service(service, redeploy=redeploy)), vaults)


def part(name: str = "main", **fields: Any) -> dict[str, Any]:
    return {"name": name, "image": IMAGE, **fields}


def container(**fields: Any) -> Object:
    (container,) = template(part(**fields))["spec"]["containers"]
    return dict(container)


def test_the_smallest_body() -> None:
    assert template() == {
        "metadata": {"labels": MARKS},
        "spec": {
            "serviceAccountName": "default",
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
            "imagePullSecrets": [],
            "nodeSelector": {},
            "tolerations": [],
            "initContainers": [],
            "containers": [
                {
                    "name": "main",
                    "image": IMAGE,
                    "command": [],
                    "args": [],
                    "env": [],
                    "ports": [],
                    "resources": {},
                    "securityContext": CONFINED,
                    "volumeMounts": [],
                }
            ],
            "volumes": [],
        },
    }


def test_scheduling_and_identity_of_the_pod() -> None:
    spec = template(
        run_as_user=65532,
        service_account_name="shipper",
        image_pull_secrets=({"name": "login"},),
        node_selector={"kubernetes.io/arch": "amd64"},
        tolerations=({"key": "edge", "operator": "Exists"},),
    )["spec"]
    assert spec["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 65532,
        "fsGroup": 65532,
        "fsGroupChangePolicy": "OnRootMismatch",
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert spec["serviceAccountName"] == "shipper"
    assert spec["automountServiceAccountToken"] is True
    assert spec["imagePullSecrets"] == [{"name": "login"}]
    assert spec["nodeSelector"] == {"kubernetes.io/arch": "amd64"}
    assert spec["tolerations"] == [{"key": "edge", "operator": "Exists"}]


def test_pods_have_labels_of_the_user_except_reserved_ones() -> None:
    users = {
        "team": "a",
        labels.MANAGED_BY: labels.OPERATOR,
        labels.CLUSTER: "fra1-vault",
        names.BOOTSTRAP: "another",
        "openbao-active": "true",
    }
    assert template(labels=users)["metadata"]["labels"] == {"team": "a", **MARKS}


def test_annotations_have_the_file_digest_and_the_redeploy_token() -> None:
    file = {"path": "/etc/x", "content": "1"}
    pod_template = template(
        part(config_files=(file,)),
        annotations={"prometheus.io/scrape": "true", names.REDEPLOY: "mine"},
        redeploy="again-1",
    )
    service = bodies.service("shipper", services=(part(config_files=(file,)),))
    assert pod_template["metadata"]["annotations"] == {
        "prometheus.io/scrape": "true",
        names.FILES: digest(config_files(service)),
        names.REDEPLOY: "again-1",
    }


def test_init_containers_and_sidecars_start_in_order() -> None:
    spec = template(
        part("main"),
        part("third", role="Sidecar", depends_on=("second",)),
        part("second", role="Init", depends_on=("first",), health_check={"port": 1}),
        part("first", role="Sidecar"),
    )["spec"]
    assert [container["name"] for container in spec["containers"]] == ["main"]
    assert "restartPolicy" not in spec["containers"][0]
    inits = spec["initContainers"]
    started = [(init["name"], init.get("restartPolicy")) for init in inits]
    assert started == [("first", "Always"), ("second", None), ("third", "Always")]
    assert all(init["securityContext"] == CONFINED for init in inits)
    assert "readinessProbe" not in inits[1], "an init container has no health check"


def test_the_fields_of_a_container() -> None:
    container_ = container(
        command=("ship",),
        args=("-v", ""),
        ports=({"name": "http", "port": 8080}, {"name": "log", "port": 514, "protocol": "UDP"}),
        resources={"requests": {"cpu": "50m"}, "limits": {"memory": "64Mi"}},
        env=(
            {"name": "LEVEL", "value": "info"},
            {"name": "WORD", "secret": {"name": "login", "key": "password"}},
        ),
    )
    assert container_["command"] == ["ship"]
    assert container_["args"] == ["-v", ""]
    assert container_["ports"] == [
        {"name": "http", "containerPort": 8080, "protocol": "TCP"},
        {"name": "log", "containerPort": 514, "protocol": "UDP"},
    ]
    assert container_["resources"] == {"requests": {"cpu": "50m"}, "limits": {"memory": "64Mi"}}
    assert container_["env"] == [
        {"name": "LEVEL", "value": "info"},
        {"name": "WORD", "valueFrom": {"secretKeyRef": {"name": "login", "key": "password"}}},
    ]


TIMES = {"periodSeconds": 10, "timeoutSeconds": 1, "failureThreshold": 3}
PROBES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "http": (
        {"http_path": "/healthz", "port": 8080},
        {"readinessProbe": {"httpGet": {"path": "/healthz", "port": 8080}, **TIMES}},
    ),
    "tcp": ({"port": 8080}, {"readinessProbe": {"tcpSocket": {"port": 8080}, **TIMES}}),
    "command": (
        {"command": ("cat", "/ready")},
        {"readinessProbe": {"exec": {"command": ["cat", "/ready"]}, **TIMES}},
    ),
    "restart": (
        {"port": 1, "restart": True},
        {
            "readinessProbe": {"tcpSocket": {"port": 1}, **TIMES},
            "livenessProbe": {"tcpSocket": {"port": 1}, **TIMES},
        },
    ),
    "times": (
        {
            "port": 1,
            "initial_delay_seconds": 5,
            "period_seconds": 6,
            "timeout_seconds": 7,
            "failure_threshold": 8,
        },
        {
            "readinessProbe": {
                "tcpSocket": {"port": 1},
                "initialDelaySeconds": 5,
                "periodSeconds": 6,
                "timeoutSeconds": 7,
                "failureThreshold": 8,
            }
        },
    ),
}


@pytest.mark.parametrize(("check", "probes"), PROBES.values(), ids=PROBES)
def test_health_checks(check: dict[str, Any], probes: dict[str, Any]) -> None:
    container_ = container(health_check=check)
    assert {name: container_[name] for name in container_ if name.endswith("Probe")} == probes


def test_volumes_are_shared_by_name() -> None:
    spool = {"name": "spool", "mount_path": "/spool"}
    spec = template(
        part(volumes=(spool,)),
        part(
            "reader",
            role="Sidecar",
            volumes=({**spool, "mount_path": "/in", "size": "1Gi", "read_only": True},),
        ),
    )["spec"]
    assert spec["volumes"] == [{"name": "spool", "emptyDir": {"sizeLimit": "1Gi"}}]
    assert spec["containers"][0]["volumeMounts"] == [{"name": "spool", "mountPath": "/spool"}]
    assert spec["initContainers"][0]["volumeMounts"] == [
        {"name": "spool", "mountPath": "/in", "readOnly": True}
    ]
    # A persistent volume comes from a volume claim template.
    data = {"name": "data", "mount_path": "/data", "kind": "Persistent", "size": "1Gi"}
    own = template(part(volumes=(data,)), kind="StatefulSet")["spec"]
    assert own["volumes"] == []
    assert own["containers"][0]["volumeMounts"] == [{"name": "data", "mountPath": "/data"}]


def test_each_volume_is_declared_once_with_the_largest_size() -> None:
    service = bodies.service(
        "shipper",
        services=(
            part(volumes=({"name": "a", "mount_path": "/a"}, {"name": "b", "mount_path": "/b"})),
            part("s", role="Sidecar", volumes=({"name": "a", "mount_path": "/c", "size": "2Gi"},)),
            part("t", role="Sidecar", volumes=({"name": "a", "mount_path": "/d", "size": "3Gi"},)),
        ),
    )
    volumes = volumes_by_name(service)
    assert {name: volume.size for name, volume in volumes.items()} == {"a": "2Gi", "b": None}


def test_each_file_is_a_sub_path_mount() -> None:
    file = {"path": "/etc/shipper/shipper.conf", "content": "flush 5\n"}
    service = bodies.service(
        "shipper",
        services=(part(config_files=(file,)), part("side", role="Sidecar", config_files=(file,))),
    )
    keys = [file_key(item, item.config_files[0]) for item in service.services]
    assert [key.rpartition("-")[0] for key in keys] == ["main", "side"]
    assert config_files(service) == dict.fromkeys(keys, "flush 5\n")
    spec = pod_template(bodies.record(bodies.desired_service(service)), ())["spec"]
    assert spec["volumes"] == [{"name": FILES_VOLUME, "configMap": {"name": "fra1-shipper-files"}}]
    assert spec["containers"][0]["volumeMounts"] == [
        {
            "name": FILES_VOLUME,
            "mountPath": "/etc/shipper/shipper.conf",
            "subPath": keys[0],
            "readOnly": True,
        }
    ]

    two = ({"path": "/a-b", "content": ""}, {"path": "/a/b", "content": ""})
    assert len(config_files(bodies.service("shipper", services=(part(config_files=two),)))) == 2


def test_a_secret_with_two_mounts_is_one_volume() -> None:
    mounts = ({"name": "tls", "mount_path": "/a"}, {"name": "tls", "mount_path": "/b"})
    spec = template(part(secrets=mounts))["spec"]
    (volume,) = spec["volumes"]
    assert volume["secret"] == {"secretName": "tls"}
    assert spec["containers"][0]["volumeMounts"] == [
        {"name": volume["name"], "mountPath": path, "readOnly": True} for path in ("/a", "/b")
    ]


def test_every_container_has_the_address_of_the_first_vault() -> None:
    spec = template(
        part(), part("first", role="Init"), vaults=(VAULT, Vault("w", "https://w", "w-ca"))
    )["spec"]
    for container in (*spec["containers"], *spec["initContainers"]):
        assert container["env"] == [
            {"name": "BAO_ADDR", "value": "https://v:8200"},
            {"name": "BAO_CACERT", "value": "/openbao/ca/ca.crt"},
            {"name": "BAO_ROLES", "value": "k/a,k/b"},
        ]
        assert container["volumeMounts"] == [
            {"name": "0-openbao-ca", "mountPath": "/openbao/ca", "readOnly": True}
        ]
    assert spec["volumes"] == [
        {
            "name": "0-openbao-ca",
            "secret": {"secretName": "v-tls-ca", "items": [{"key": "ca.crt", "path": "ca.crt"}]},
        }
    ]


def test_settings_of_the_user_take_precedence() -> None:
    spec = template(
        part(
            env=({"name": "BAO_ADDR", "value": "https://mine"}, {"name": "A", "value": "1"}),
            volumes=({"name": "mine", "mount_path": "/openbao/ca/"},),
        ),
        vaults=(VAULT,),
    )["spec"]
    (container,) = spec["containers"]
    assert container["env"] == [
        {"name": "BAO_CACERT", "value": "/openbao/ca/ca.crt"},
        {"name": "BAO_ROLES", "value": "k/a,k/b"},
        {"name": "BAO_ADDR", "value": "https://mine"},
        {"name": "A", "value": "1"},
    ]
    assert container["volumeMounts"] == [{"name": "mine", "mountPath": "/openbao/ca/"}]


def test_a_host_path_is_read_only_and_must_exist() -> None:
    mine = {"name": "logs", "mountPath": "/logs", "kind": "HostPath", "hostPath": "/var/log"}
    main = {"name": "main", "image": IMAGE, "volumes": [mine]}
    spec = template(main, kind="DaemonSet")["spec"]
    assert spec["volumes"] == [
        {"name": "logs", "hostPath": {"path": "/var/log", "type": "Directory"}}
    ]
    assert spec["containers"][0]["volumeMounts"] == [
        {"name": "logs", "mountPath": "/logs", "readOnly": True}
    ]


def test_a_container_that_runs_as_root_has_no_capabilities() -> None:
    spec = template(run_as_user=0)["spec"]
    assert spec["securityContext"]["runAsUser"] == 0
    assert spec["securityContext"]["runAsNonRoot"] is False
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert spec["containers"][0]["securityContext"] == CONFINED
