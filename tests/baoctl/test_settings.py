"""baoctl.settings: environment to settings."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from baoctl.settings import from_environment
from runtime.leader.shard import Shard

POD = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "POD_NAME": "op-1", "POD_NAMESPACE": "ops"}


class Row(NamedTuple):
    """A setting, with dots for nested fields, and its value in an environment."""

    env: Mapping[str, str]
    path: str
    value: Any


ROWS: dict[str, Row] = {
    "a kubeconfig outside of a pod": Row(
        {"KUBECONFIG": "/etc/kubeconfig"}, "api_server.kubeconfig", "/etc/kubeconfig"
    ),
    "the ServiceAccount in a pod, even with KUBECONFIG": Row(
        {**POD, "KUBECONFIG": "/etc/kubeconfig"}, "api_server.kubeconfig", None
    ),
    "the address of the API server in a pod": Row(POD, "api_server.pod_host", "10.96.0.1"),
    "the address of the API server outside of a pod": Row({}, "api_server.pod_host", None),
    "the namespace of the pod": Row(POD, "installation.namespace", "ops"),
    "the default namespace": Row({}, "installation.namespace", "openbao-operator-system"),
    "another account": Row(
        {"OPERATOR_SERVICE_ACCOUNT_NAME": "me"}, "installation.service_account", "me"
    ),
    "the default account": Row({}, "installation.service_account", "openbao-operator-controller"),
    "the default audience of logins": Row({}, "installation.audience", "openbao-internal"),
    "an empty audience": Row(
        {"OPENBAO_JWT_AUDIENCE": ""}, "installation.audience", "openbao-internal"
    ),
    "another audience of logins": Row(
        {"OPENBAO_JWT_AUDIENCE": "team-bao"}, "installation.audience", "team-bao"
    ),
    "the default image has no host": Row({}, "installation.image_repository", "openbao/openbao"),
    "another image repository": Row(
        {"RELATED_IMAGE_OPENBAO": "registry.example.com/bao"},
        "installation.image_repository",
        "registry.example.com/bao",
    ),
    "all namespaces": Row({}, "namespaces", ()),
    "an empty name is all namespaces": Row({"WATCH_NAMESPACE": ""}, "namespaces", ()),
    "one namespace": Row({"WATCH_NAMESPACE": "a"}, "namespaces", ("a",)),
    "a list of namespaces, each once": Row(
        {"WATCH_NAMESPACE": "a, b,a,,"}, "namespaces", ("a", "b")
    ),
    "the default mode is cluster-wide": Row({}, "installation.mode", "cluster"),
    "the mode of a list of namespaces": Row(
        {"WATCH_NAMESPACE": "a,b"}, "installation.mode", "namespaces"
    ),
    "the mode of one namespace": Row({"WATCH_NAMESPACE": "a"}, "installation.mode", "namespaces"),
    "the mode of tenants": Row({"TENANCY_MODE": "multi-tenant"}, "installation.mode", "tenants"),
    "other modes watch": Row({"TENANT_READS": "poll"}, "installation.reads", "watch"),
    "objects of tenants are polled": Row(
        {"TENANCY_MODE": "multi-tenant"}, "installation.reads", "poll"
    ),
    "objects of tenants are watched": Row(
        {"TENANCY_MODE": "multi-tenant", "TENANT_READS": "watch"}, "installation.reads", "watch"
    ),
    "the default period of policy checks": Row({}, "installation.admission_recheck", 600.0),
    "another period of policy checks": Row(
        {"ADMISSION_RECHECK_SECONDS": "5"}, "installation.admission_recheck", 5.0
    ),
    "the default deadline of a pod": Row({}, "installation.pod_deadline", timedelta(minutes=10)),
    "another deadline of a pod": Row(
        {"UPGRADE_POD_DEADLINE_SECONDS": "20"}, "installation.pod_deadline", timedelta(seconds=20)
    ),
    "leader election": Row({}, "leader_election", True),
    "the default port": Row({}, "port", 8080),
    "another port": Row({"METRICS_PORT": "0"}, "port", 0),
    "all listen addresses": Row({}, "listen", ""),
    "one listen address": Row({"LISTEN_ADDRESS": "127.0.0.1"}, "listen", "127.0.0.1"),
    "the default log level": Row({}, "log_level", "info"),
    "another log level": Row({"LOG_LEVEL": "debug"}, "log_level", "debug"),
    "no shards": Row({}, "shard", Shard(0, 1)),
    "an empty shard": Row({"SHARD": ""}, "shard", Shard(0, 1)),
    "the second shard of four": Row({"SHARD": "1/4"}, "shard", Shard(1, 4)),
    "no datacenters by default": Row({}, "datacenters", False),
    "an empty value is no datacenters": Row({"DATACENTERS": ""}, "datacenters", False),
    "datacenters disabled": Row({"DATACENTERS": "false"}, "datacenters", False),
    "datacenters enabled": Row({"DATACENTERS": "true"}, "datacenters", True),
    "datacenters disabled in a mode that does not support them": Row(
        {"DATACENTERS": "false", "TENANCY_MODE": "multi-tenant"}, "datacenters", False
    ),
}


@pytest.mark.parametrize(("env", "path", "value"), ROWS.values(), ids=ROWS.keys())
def test_setting(env: Mapping[str, str], path: str, value: Any) -> None:
    environment: Any = from_environment(env)
    for step in path.split("."):
        environment = getattr(environment, step)
    assert environment == value


def test_every_process_of_a_pod_has_another_identity() -> None:
    first, second = from_environment(POD).identity, from_environment(POD).identity
    assert first.startswith("op-1_")
    assert first != second


def test_insecure_registries_are_a_list() -> None:
    assert from_environment({}).images.insecure_registries == frozenset()
    environment = from_environment({"INSECURE_REGISTRIES": "r.test:5000,127.0.0.1:5000,"})
    assert environment.images.insecure_registries == {"r.test:5000", "127.0.0.1:5000"}


def test_no_transparency_log_is_trusted_without_a_trust_root(tmp_path: Path) -> None:
    assert from_environment({}).images.root.logs == {}
    file = tmp_path / "trusted_root.json"
    with pytest.raises(ValueError, match="SIGSTORE_TRUSTED_ROOT"):
        from_environment({"SIGSTORE_TRUSTED_ROOT": str(file)})
    file.write_text("{}")
    with pytest.raises(ValueError, match="names no transparency log"):
        from_environment({"SIGSTORE_TRUSTED_ROOT": str(file)})


@pytest.mark.parametrize(
    ("env", "word"),
    [
        ({"WATCH_NAMESPACE": "a", "TENANCY_MODE": "multi-tenant"}, "WATCH_NAMESPACE"),
        ({"TENANCY_MODE": "multi-tenant", "TENANT_READS": "list"}, "TENANT_READS"),
        ({"DATACENTERS": "true", "WATCH_NAMESPACE": "a"}, "DATACENTERS 'true': must not be"),
        ({"DATACENTERS": "true", "TENANCY_MODE": "multi-tenant"}, "DATACENTERS 'true': must not"),
    ],
)
def test_an_invalid_mode_is_refused(env: dict[str, str], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        from_environment(env)


def test_the_flag_sets_the_same_mode_as_the_variable() -> None:
    assert from_environment({}, watch_namespace="a").installation.mode == "namespaces"
    with pytest.raises(ValueError, match="TENANCY_MODE"):
        from_environment({"TENANCY_MODE": "multi-tenant"}, watch_namespace="a")
    with pytest.raises(ValueError, match="DATACENTERS"):
        from_environment({"DATACENTERS": "true"}, watch_namespace="a")
