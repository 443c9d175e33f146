"""managers.workload.objects.probes, and what else of a pod depends on mode ACME."""

from typing import Any

from managers.workload.objects.pod import pod_template
from tests import gen

ACME = {"mode": "ACME", "acme": {"directoryURL": "https://acme.example.com/dir"}}
SYSCTL = "net.ipv4.ip_unprivileged_port_start"


def pod_of(cluster: gen.Cluster) -> Any:
    template = pod_template(gen.resolved(cluster), digest="d", reload="r", first_boot=False)
    return template["spec"]


def acme(**spec: Any) -> gen.Cluster:
    return gen.cluster().with_spec(replicas=1, tls=ACME, **spec)


def test_in_mode_acme_the_server_asks_itself_by_its_name() -> None:
    container = pod_of(acme())["containers"][0]
    ready = container["readinessProbe"]["exec"]["command"]
    assert ready[:2] == ["bao", "status"]
    assert "-tls-server-name=x-acme.ns.svc" in ready
    # A sealed server is alive, and so is one that waits for its certificate.
    assert set(container["livenessProbe"]) >= {"tcpSocket"}
    assert set(container["startupProbe"]) >= {"tcpSocket"}


def test_outside_of_acme_the_kubelet_asks() -> None:
    container = pod_of(gen.cluster())["containers"][0]
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"]["scheme"] == "HTTPS"


def test_the_acme_client_may_open_its_port() -> None:
    assert pod_of(acme())["securityContext"]["sysctls"] == [{"name": SYSCTL, "value": "0"}]
    assert "sysctls" not in pod_of(gen.cluster())["securityContext"]


def test_sysctls_of_the_user_are_kept() -> None:
    theirs = {"name": "net.ipv4.tcp_syncookies", "value": "1"}
    mistaken = {"name": SYSCTL, "value": "1024"}
    wish = acme(securityContext={"sysctls": [theirs, mistaken]})
    sysctls = pod_of(wish)["securityContext"]["sysctls"]
    assert sysctls == [theirs, {"name": SYSCTL, "value": "0"}]
