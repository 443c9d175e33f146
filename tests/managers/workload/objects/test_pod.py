"""managers.workload.objects.pod and probes: the pod of one server, field by field."""

from typing import Any

import pytest

from contracts.builders.security_context import pod_security
from contracts.naming import labels, mount_paths
from managers.workload.objects.pod import CONTAINER
from tests import gen
from tests.managers.workload.objects.templates import template


def container(*, first_boot: bool = False, **spec: Any) -> dict[str, Any]:
    (only,) = template(first_boot=first_boot, **spec)["spec"]["containers"]
    assert only["name"] == CONTAINER
    server: dict[str, Any] = only
    return server


def security(**spec: Any) -> dict[str, Any]:
    context: dict[str, Any] = template(**spec)["spec"]["securityContext"]
    return context


@pytest.mark.parametrize("first_boot", [True, False])
def test_every_mount_has_a_volume_and_vice_versa(first_boot: bool) -> None:
    volumes = [v["name"] for v in template(first_boot=first_boot)["spec"]["volumes"]]
    mounts = [m["name"] for m in container(first_boot=first_boot)["volumeMounts"]]
    # The data volume comes from the claim template.
    assert sorted([*volumes, "data"]) == sorted(mounts)
    assert len(set(mounts)) == len(mounts)


@pytest.mark.parametrize("first_boot", [True, False])
def test_only_data_and_temporary_files_are_writable(first_boot: bool) -> None:
    mounts = container(first_boot=first_boot)["volumeMounts"]
    writable = {mount["mountPath"] for mount in mounts if not mount.get("readOnly")}
    assert writable == {mount_paths.DATA, mount_paths.TMP}


def test_only_first_boot_volumes_are_optional() -> None:
    """An optional volume may be empty, which only the first boot tolerates."""
    for volume in template(first_boot=True)["spec"]["volumes"]:
        source = volume.get("secret") or volume.get("configMap") or {}
        assert source.get("optional", False) is (volume["name"] in {"init", "root-token"})


def test_a_server_has_time_to_step_down() -> None:
    """It drains requests for up to 90 s, and is killed when its grace ends."""
    assert 'max_request_duration = "90s"' in gen.resolved(gen.cluster()).config_text
    assert template()["spec"]["terminationGracePeriodSeconds"] > 90


def test_the_server_reads_the_mounted_configuration() -> None:
    mounts = {m["mountPath"] for m in container(first_boot=True)["volumeMounts"]}
    for argument in container(first_boot=True)["command"][2:]:
        path = argument.removeprefix("-config=")
        assert any(path == mount or path.startswith(f"{mount}/") for mount in mounts), path


def test_a_variable_refers_only_to_earlier_ones() -> None:
    known: set[str] = set()
    for variable in container()["env"]:
        used = str(variable.get("value", "")).split("$(")[1:]
        assert {part.partition(")")[0] for part in used} <= known, variable
        known.add(variable["name"])
    assert {"BAO_RAFT_NODE_ID", "BAO_API_ADDR", "BAO_CLUSTER_ADDR"} <= known


def test_each_server_has_its_own_address() -> None:
    values = {v["name"]: v.get("value") for v in container()["env"]}
    assert values["BAO_API_ADDR"] == "https://$(BAO_K8S_POD_NAME).x.ns.svc:8200"
    assert values["BAO_CLUSTER_ADDR"] == "https://$(BAO_K8S_POD_NAME).x.ns.svc:8201"


def test_no_secret_is_in_the_environment_or_the_arguments() -> None:
    for variable in container(first_boot=True)["env"]:
        assert "secretKeyRef" not in str(variable)
    assert "token/" not in " ".join(container(first_boot=True)["command"])


def test_metadata_of_the_user_does_not_override_ours() -> None:
    theirs = {"team": "a", labels.NAME: "mine", labels.MANAGED_BY: "me"}
    wish = {"labels": theirs, "annotations": {"note": "b"}}
    metadata = template(podMetadata=wish)["metadata"]
    assert metadata["labels"] == {"team": "a", **labels.server_pod("x")}
    annotations = metadata["annotations"]
    annotations.pop(labels.UNSEAL_KEYS, None)
    ours = {labels.TEMPLATE_HASH: "the digest", labels.RELOAD_HASH: "the files"}
    assert annotations == {"note": "b", **ours}


def test_optional_fields_are_absent_by_default() -> None:
    bare = template()["spec"]
    assert "imagePullSecrets" not in bare
    assert "resources" not in container()
    full = template(imagePullSecrets=[{"name": "login"}])["spec"]
    assert full["imagePullSecrets"] == [{"name": "login"}]
    wish = {"requests": {"cpu": "250m", "memory": "256Mi"}, "limits": {"memory": "1Gi"}}
    assert container(resources=wish)["resources"] == wish


def test_a_sealed_server_is_live_and_not_ready() -> None:
    server = container()
    for probe in ("startupProbe", "livenessProbe"):
        assert "sealedcode=200" in server[probe]["httpGet"]["path"]
        assert "uninitcode=200" in server[probe]["httpGet"]["path"]
    ready = server["readinessProbe"]["httpGet"]["path"]
    assert "standbyok=true" in ready
    assert "sealedcode" not in ready
    assert "uninitcode" not in ready
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        get = server[probe]["httpGet"]
        assert (get["scheme"], get["port"]) == ("HTTPS", 8200)


def test_the_pod_meets_the_restricted_standard() -> None:
    spec = template()["spec"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert container()["securityContext"]["readOnlyRootFilesystem"] is True
    assert spec["automountServiceAccountToken"] is False
    assert spec["enableServiceLinks"] is False
    for volume in template(first_boot=True)["spec"]["volumes"]:
        assert not volume.keys() & {"hostPath", "nfs"}
        # Secrets are readable by the group alone.
        assert "secret" not in volume or volume["secret"]["defaultMode"] == 0o440


def test_servers_prefer_different_nodes() -> None:
    spread = template()["spec"]["affinity"]["podAntiAffinity"]
    (term,) = spread["preferredDuringSchedulingIgnoredDuringExecution"]
    assert term["podAffinityTerm"]["labelSelector"]["matchLabels"] == labels.voters("x")
    assert "requiredDuringSchedulingIgnoredDuringExecution" not in spread


# --- spec.securityContext and spec.workloadHardening ---


def test_the_default_security_context_is_restricted() -> None:
    assert security() == pod_security()


def test_a_security_field_of_the_user_replaces_only_ours() -> None:
    expected = {"runAsUser": 2000, "fsGroup": 3000, "seLinuxOptions": {"level": "s0:c1"}}
    assert security(securityContext=expected) == {**pod_security(), **expected}


@pytest.mark.parametrize(
    ("spec", "profile"),
    [
        ({}, None),
        ({"workloadHardening": {"appArmorEnabled": False}}, None),
        ({"workloadHardening": {"appArmorEnabled": True}}, {"type": "RuntimeDefault"}),
        (
            {
                "workloadHardening": {"appArmorEnabled": True},
                "securityContext": {
                    "appArmorProfile": {"type": "Localhost", "localhostProfile": "bao"}
                },
            },
            {"type": "Localhost", "localhostProfile": "bao"},
        ),
    ],
)
def test_the_apparmor_profile(spec: dict[str, Any], profile: dict[str, str] | None) -> None:
    assert security(**spec).get("appArmorProfile") == profile


# --- mode ACME ---

ACME = {"mode": "ACME", "acme": {"directoryURL": "https://acme.example.com/dir"}}
SYSCTL = "net.ipv4.ip_unprivileged_port_start"


def acme(**spec: Any) -> dict[str, Any]:
    pod: dict[str, Any] = template(replicas=1, tls=ACME, **spec)["spec"]
    return pod


def test_in_mode_acme_the_probe_uses_the_server_name() -> None:
    container = acme()["containers"][0]
    ready = container["readinessProbe"]["exec"]["command"]
    assert ready[:2] == ["bao", "status"]
    assert "-tls-server-name=x-acme.ns.svc" in ready
    # A sealed server is alive, and so is one that waits for its certificate.
    assert set(container["livenessProbe"]) >= {"tcpSocket"}
    assert set(container["startupProbe"]) >= {"tcpSocket"}


def test_the_acme_client_may_open_its_port() -> None:
    assert acme()["securityContext"]["sysctls"] == [{"name": SYSCTL, "value": "0"}]
    assert "sysctls" not in security()


def test_sysctls_of_the_user_are_kept() -> None:
    theirs = {"name": "net.ipv4.tcp_syncookies", "value": "1"}
    mistaken = {"name": SYSCTL, "value": "1024"}
    sysctls = acme(securityContext={"sysctls": [theirs, mistaken]})["securityContext"]["sysctls"]
    assert sysctls == [theirs, {"name": SYSCTL, "value": "0"}]
