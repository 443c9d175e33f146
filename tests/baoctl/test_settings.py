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
    """What a setting, with dots into its parts, is in an environment."""

    env: Mapping[str, str]
    path: str
    value: Any


ROWS: dict[str, Row] = {
    "outside of a pod a kubeconfig is used": Row(
        {"KUBECONFIG": "/etc/kubeconfig"}, "api_server.kubeconfig", "/etc/kubeconfig"
    ),
    "in a pod its account is used, whatever KUBECONFIG says": Row(
        {**POD, "KUBECONFIG": "/etc/kubeconfig"}, "api_server.kubeconfig", None
    ),
    "in a pod the API server's address is known": Row(POD, "api_server.pod_host", "10.96.0.1"),
    "outside of a pod it is asked for": Row({}, "api_server.pod_host", None),
    "the namespace is the pod's": Row(POD, "installation.namespace", "ops"),
    "the namespace has a default": Row({}, "installation.namespace", "openbao-operator-system"),
    "the account may be named": Row(
        {"OPERATOR_SERVICE_ACCOUNT_NAME": "me"}, "installation.service_account", "me"
    ),
    "the account has a default": Row(
        {}, "installation.service_account", "openbao-operator-controller"
    ),
    "the audience of logins has a default": Row({}, "installation.audience", "openbao-internal"),
    "an empty audience is none": Row(
        {"OPENBAO_JWT_AUDIENCE": ""}, "installation.audience", "openbao-internal"
    ),
    "the audience of logins may be another": Row(
        {"OPENBAO_JWT_AUDIENCE": "team-bao"}, "installation.audience", "team-bao"
    ),
    "the image has a default without a host": Row(
        {}, "installation.image_repository", "openbao/openbao"
    ),
    "the image may be elsewhere": Row(
        {"RELATED_IMAGE_OPENBAO": "registry.example.com/bao"},
        "installation.image_repository",
        "registry.example.com/bao",
    ),
    "all namespaces are watched": Row({}, "namespaces", ()),
    "an empty name is all of them": Row({"WATCH_NAMESPACE": ""}, "namespaces", ()),
    "one namespace is watched": Row({"WATCH_NAMESPACE": "a"}, "namespaces", ("a",)),
    "a list of namespaces, each once": Row(
        {"WATCH_NAMESPACE": "a, b,a,,"}, "namespaces", ("a", "b")
    ),
    "without a word everything is seen": Row({}, "installation.mode", "cluster"),
    "a list is a mode": Row({"WATCH_NAMESPACE": "a,b"}, "installation.mode", "namespaces"),
    "so is one": Row({"WATCH_NAMESPACE": "a"}, "installation.mode", "namespaces"),
    "tenants are a mode": Row({"TENANCY_MODE": "multi-tenant"}, "installation.mode", "tenants"),
    "what is no mode of tenants watches": Row(
        {"TENANT_READS": "poll"}, "installation.reads", "watch"
    ),
    "tenants are asked by name": Row(
        {"TENANCY_MODE": "multi-tenant"}, "installation.reads", "poll"
    ),
    "tenants may be watched": Row(
        {"TENANCY_MODE": "multi-tenant", "TENANT_READS": "watch"}, "installation.reads", "watch"
    ),
    "policies are looked at now and then": Row({}, "installation.admission_recheck", 600.0),
    "they may be looked at more often": Row(
        {"ADMISSION_RECHECK_SECONDS": "5"}, "installation.admission_recheck", 5.0
    ),
    "a server has its time to come back": Row(
        {}, "installation.pod_deadline", timedelta(minutes=10)
    ),
    "it may have less": Row(
        {"UPGRADE_POD_DEADLINE_SECONDS": "20"}, "installation.pod_deadline", timedelta(seconds=20)
    ),
    "a lease is taken": Row({}, "leader_election", True),
    "the port has a default": Row({}, "port", 8080),
    "the port may be another": Row({"METRICS_PORT": "0"}, "port", 0),
    "every address is listened on": Row({}, "listen", ""),
    "one address is listened on": Row({"LISTEN_ADDRESS": "127.0.0.1"}, "listen", "127.0.0.1"),
    "what matters is logged": Row({}, "log_level", "info"),
    "more is logged": Row({"LOG_LEVEL": "debug"}, "log_level", "debug"),
    "there are no shards": Row({}, "shard", Shard(0, 1)),
    "an empty shard is all clusters": Row({"SHARD": ""}, "shard", Shard(0, 1)),
    "the second shard of four": Row({"SHARD": "1/4"}, "shard", Shard(1, 4)),
    "there are no datacenters": Row({}, "datacenters", False),
    "an empty word is no datacenters": Row({"DATACENTERS": ""}, "datacenters", False),
    "it may be said that there are none": Row({"DATACENTERS": "false"}, "datacenters", False),
    "there may be datacenters": Row({"DATACENTERS": "true"}, "datacenters", True),
    "there may be none in any mode": Row(
        {"DATACENTERS": "false", "TENANCY_MODE": "multi-tenant"}, "datacenters", False
    ),
}


@pytest.mark.parametrize(("env", "path", "value"), ROWS.values(), ids=ROWS.keys())
def test_setting(env: Mapping[str, str], path: str, value: Any) -> None:
    environment: Any = from_environment(env)
    for step in path.split("."):
        environment = getattr(environment, step)
    assert environment == value


def test_no_two_processes_of_a_pod_share_an_identity() -> None:
    first, second = from_environment(POD).identity, from_environment(POD).identity
    assert first.startswith("op-1_")
    assert first != second


def test_registries_without_tls_are_named_one_by_one() -> None:
    assert from_environment({}).images.insecure_registries == frozenset()
    environment = from_environment({"INSECURE_REGISTRIES": "r.test:5000,127.0.0.1:5000,"})
    assert environment.images.insecure_registries == {"r.test:5000", "127.0.0.1:5000"}


def test_no_log_is_believed_without_a_trust_root(tmp_path: Path) -> None:
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
def test_a_mode_that_makes_no_sense_is_refused(env: dict[str, str], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        from_environment(env)


def test_the_flag_changes_the_mode_as_the_environment_does() -> None:
    assert from_environment({}, watch_namespace="a").installation.mode == "namespaces"
    with pytest.raises(ValueError, match="TENANCY_MODE"):
        from_environment({"TENANCY_MODE": "multi-tenant"}, watch_namespace="a")
    with pytest.raises(ValueError, match="DATACENTERS"):
        from_environment({"DATACENTERS": "true"}, watch_namespace="a")
