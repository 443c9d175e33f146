"""A plugin from a registry, a namespace, conditional requests, key exchange and a metrics port."""

import base64
import socket
import ssl

import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import names
from e2e.conftest import MakeNamespace
from e2e.harness.bao import AUDIENCE, PORT, BaoError
from e2e.harness.clusters import Cluster
from e2e.harness.https import Site
from e2e.harness.kubernetes import Api, Object
from e2e.harness.manifests import CLIENT, client_login, self_init
from e2e.harness.manifests import cluster as manifest
from e2e.harness.operator import Operator
from e2e.harness.plugins import PluginRegistry
from e2e.harness.waiting import until
from e2e.harness.writing import may_write
from e2e.rig.versions import TOTP_PLUGIN_PROGRAM

NAME, TEAM, ENGINE = "featured", "team", "codes"
METRICS_PORT = 8202
POLICY = f"""
path "{ENGINE}/*" {{ capabilities = ["create", "read", "update"] }}
path "{TEAM}/secret/*" {{ capabilities = ["create", "read", "update"] }}
path "sys/mounts" {{ capabilities = ["read"] }}
"""
REQUESTS: tuple[Object, ...] = (
    {"name": "namespace", "operation": "update", "path": f"sys/namespaces/{TEAM}", "data": {}},
    {
        "name": "secrets_of_the_team",
        "operation": "update",
        "path": f"{TEAM}/sys/mounts/secret",
        "data": {"type": "kv", "options": {"version": "1"}},
    },
    {
        "name": "left_out",
        "operation": "update",
        "path": "sys/mounts/left-out",
        "when": False,
        "secretEngine": {"type": "kv"},
    },
    {
        "name": "sent",
        "operation": "update",
        "path": "sys/mounts/sent",
        "when": True,
        "secretEngine": {"type": "kv"},
    },
    {
        "name": "plugin",
        "operation": "update",
        "path": f"sys/mounts/{ENGINE}",
        "secretEngine": {"type": "one-time-passwords"},
    },
    {
        "name": "policy",
        "operation": "update",
        "path": "sys/policies/acl/features",
        "policy": {"policy": POLICY},
    },
)


@pytest.fixture(scope="module")
def cluster(
    api: Api, operator: Operator, make_namespace: MakeNamespace, plugins: PluginRegistry
) -> Cluster:
    namespace = make_namespace()
    _, role = client_login(namespace)
    role["data"]["token_policies"] = ["features"]
    plugin = {"type": "secret", "name": "one-time-passwords"}
    spec = {
        "selfInit": self_init(*REQUESTS, role),
        "plugins": [plugin | plugins.publish(TOTP_PLUGIN_PROGRAM)],
        "configuration": {"listener": {"tlsKeyExchangePreferences": ["X25519MLKEM768", "X25519"]}},
        "observability": {
            "metrics": {
                "enabled": True,
                "metricsOnlyListener": {"enabled": True, "unauthenticatedMetricsAccess": True},
            }
        },
    }
    api.create(CLUSTERS, manifest(namespace, NAME, **spec))
    cluster = Cluster(api, namespace, NAME)
    may_write(cluster)
    cluster.await_available(120.0)
    return cluster


@pytest.fixture(scope="module")
def token(cluster: Cluster) -> str:
    jwt = cluster.api.token(cluster.namespace, CLIENT, AUDIENCE)
    return cluster.server().login(CLIENT, jwt)


def test_the_server_downloads_a_plugin_and_answers_with_it(
    cluster: Cluster, token: str, plugins: PluginRegistry
) -> None:
    """The engine is mounted before the cluster is Ready, so the first start has the plugin."""
    server = cluster.server()
    key = {"generate": True, "issuer": "openbao", "account_name": "alice"}
    server.post(f"{ENGINE}/keys/alice", token, key)
    code = server.get(f"{ENGINE}/code/alice", token)["data"]["code"]
    assert server.post(f"{ENGINE}/code/alice", token, {"code": code})["data"]["valid"] is True
    assert plugins.downloads(TOTP_PLUGIN_PROGRAM) == 1


def test_the_path_of_a_request_can_name_a_namespace(cluster: Cluster, token: str) -> None:
    server = cluster.server()
    server.post(f"{TEAM}/secret/greeting", token, {"text": "hello"})
    assert server.get(f"{TEAM}/secret/greeting", token)["data"] == {"text": "hello"}
    with pytest.raises(BaoError, match="403"):
        server.get("secret/greeting", token)


def test_a_request_is_sent_only_when_its_condition_holds(cluster: Cluster, token: str) -> None:
    mounts = cluster.server().get("sys/mounts", token)["data"]
    assert "sent/" in mounts
    assert "left-out/" not in mounts


def test_only_the_preferred_groups_exchange_keys(cluster: Cluster) -> None:
    address = str(cluster.pods()[0]["status"]["podIP"])
    assert handshake(address, "X25519")
    with pytest.raises(ssl.SSLError, match="handshake failure"):
        handshake(address, "prime256v1")


def test_the_second_port_serves_metrics_and_nothing_else(cluster: Cluster) -> None:
    metrics = site(cluster, METRICS_PORT)

    def is_counted() -> bool:
        code, body = metrics.request("GET", "sys/metrics")
        gauges = {gauge["Name"] for gauge in body.get("Gauges", ())}
        return code == 200 and any("unsealed" in name for name in gauges)

    until("the port serves metrics without a token", is_counted, 30.0, tolerate=(OSError,))
    assert metrics.request("GET", "sys/health")[0] == 404
    assert site(cluster, PORT).request("GET", "sys/metrics")[0] == 403


def site(cluster: Cluster, port: int) -> Site:
    """Return a client of a port of the server, without a token."""
    authority = cluster.secret(names.tls_ca_secret(NAME))
    assert authority is not None
    return Site(
        str(cluster.pods()[0]["status"]["podIP"]),
        port,
        names.raft_server_name(NAME),
        base64.b64decode(authority["data"]["ca.crt"]),
    )


def handshake(address: str, group: str) -> bool:
    """Connect with one group of key exchange. Raises ssl.SSLError if the server refuses it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # Other scenarios check the certificate.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_ecdh_curve(group)
    with (
        socket.create_connection((address, PORT), timeout=5.0) as raw,
        context.wrap_socket(raw, server_hostname=names.raft_server_name(NAME)) as tls,
    ):
        return tls.cipher() is not None
