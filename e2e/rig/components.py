"""The command line of every component. Comments explain the flags (documentation of 1.36)."""

import sys
from collections.abc import Callable

from e2e.rig.layout import NODE_NAME, Layout
from e2e.rig.network import bridge_filter_works
from e2e.rig.paths import REPOSITORY
from e2e.rig.processes import Command

# In starting order; they are stopped in reverse order.
CONTROL_PLANE = ("etcd", "kube-apiserver")
NODE = (
    "kube-controller-manager",
    "kube-scheduler",
    "kube-proxy",
    "provisioner",
    "coredns",
    "kubelet",
)
RUNTIME = "containerd"
# Enforces NetworkPolicies; runs only while a scenario requests it.
ENFORCER = "kube-router"


def names(layout: Layout) -> tuple[str, ...]:
    """Return the components of a rig in starting order."""
    return CONTROL_PLANE if layout.control_plane_only else (*CONTROL_PLANE, RUNTIME, *NODE)


def command(layout: Layout, name: str) -> Command:
    """Return the command that starts component ``name``. Raises KeyError for an unknown name."""
    argv = _ARGUMENTS[name](layout)
    # They run only for minutes: less garbage collection saves CPU time.
    environment = {"TMPDIR": str(layout.paths.tmp), "GOGC": "400"}
    if name == "provisioner":
        environment["PYTHONPATH"] = str(REPOSITORY)
    return Command(layout.inside(*argv), environment)


def _etcd(layout: Layout) -> list[str]:
    return [
        str(layout.bin("etcd")),
        f"--data-dir={layout.paths.etcd}",
        f"--listen-client-urls={layout.etcd}",
        f"--advertise-client-urls={layout.etcd}",
        f"--listen-peer-urls={layout.etcd_peer}",
        f"--initial-advertise-peer-urls={layout.etcd_peer}",
        f"--initial-cluster=default={layout.etcd_peer}",
        # The data is deleted with the rig, and no test checks that etcd survives a crash.
        "--unsafe-no-fsync",
        # Measurements store hundreds of the largest objects: more than the default of 2 GiB.
        f"--quota-backend-bytes={8 << 30}",
        "--log-level=warn",
    ]


def _apiserver(layout: Layout) -> list[str]:
    pki = layout.paths.pki
    arguments = [
        str(layout.bin("kube-apiserver")),
        f"--etcd-servers={layout.etcd}",
        f"--bind-address={layout.api_host}",
        f"--advertise-address={layout.api_host}",
        f"--secure-port={layout.api_port}",
        f"--service-cluster-ip-range={layout.slot.services}",
        f"--cert-dir={layout.paths.tmp}",
        f"--tls-cert-file={pki}/kube-apiserver.crt",
        f"--tls-private-key-file={pki}/kube-apiserver.key",
        f"--client-ca-file={pki}/ca.crt",
        f"--service-account-key-file={pki}/sa.pub",
        f"--service-account-signing-key-file={pki}/sa.key",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        "--authorization-mode=Node,RBAC",
        "--allow-privileged=true",
        f"--audit-policy-file={layout.paths.config}/audit-policy.yaml",
        f"--audit-log-path={layout.paths.audit_log}",
        # Zero would rotate the file at 100 MB, and tests that count requests read only one file.
        "--audit-log-maxsize=100000",
    ]
    if layout.control_plane_only:
        # No controller creates default service accounts here, and pods need one.
        return [
            *arguments,
            "--disable-admission-plugins=ServiceAccount",
            # As on OpenShift: setting blockOwnerDeletion requires update of finalizers.
            "--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
        ]
    return [
        *arguments,
        "--enable-admission-plugins=NodeRestriction",
        f"--kubelet-client-certificate={pki}/kubelet-client.crt",
        f"--kubelet-client-key={pki}/kubelet-client.key",
        f"--kubelet-certificate-authority={pki}/ca.crt",
        "--kubelet-preferred-address-types=InternalIP",
    ]


def _containerd(layout: Layout) -> list[str]:
    return ["containerd", "--config", f"{layout.paths.config}/containerd.toml"]


def _controller_manager(layout: Layout) -> list[str]:
    pki = layout.paths.pki
    return [
        str(layout.bin("kube-controller-manager")),
        f"--kubeconfig={layout.paths.config}/kube-controller-manager.kubeconfig",
        f"--service-account-private-key-file={pki}/sa.key",
        f"--root-ca-file={pki}/ca.crt",
        f"--cluster-signing-cert-file={pki}/ca.crt",
        f"--cluster-signing-key-file={pki}/ca.key",
        f"--cert-dir={layout.paths.tmp}",
        "--use-service-account-credentials=true",
        "--leader-elect=false",
        "--bind-address=127.0.0.1",
        # The rate limits of the rig must not affect measurements.
        "--kube-api-qps=100",
        "--kube-api-burst=200",
    ]


def _scheduler(layout: Layout) -> list[str]:
    return [
        str(layout.bin("kube-scheduler")),
        f"--kubeconfig={layout.paths.config}/kube-scheduler.kubeconfig",
        f"--cert-dir={layout.paths.tmp}",
        "--leader-elect=false",
        "--bind-address=127.0.0.1",
        "--kube-api-qps=100",
        "--kube-api-burst=200",
    ]


def _proxy(layout: Layout) -> list[str]:
    return [
        str(layout.bin("kube-proxy")),
        f"--kubeconfig={layout.paths.config}/kube-proxy.kubeconfig",
        f"--hostname-override={NODE_NAME}",
        "--proxy-mode=iptables",
        f"--cluster-cidr={layout.slot.pods}",
        f"--masquerade-all={str(not bridge_filter_works()).lower()}",
        # Apply changed endpoints immediately, not after the default delay of a second.
        "--iptables-min-sync-period=100ms",
        # These would change sysctls of the whole machine.
        "--conntrack-max-per-core=0",
        "--conntrack-tcp-timeout-established=0",
        "--conntrack-tcp-timeout-close-wait=0",
    ]


def _kubelet(layout: Layout) -> list[str]:
    return [
        str(layout.bin("kubelet")),
        f"--config={layout.paths.config}/kubelet.yaml",
        f"--kubeconfig={layout.paths.config}/kubelet.kubeconfig",
        f"--hostname-override={NODE_NAME}",
        f"--node-ip={layout.slot.node}",
        "--node-labels=topology.kubernetes.io/region=rig,topology.kubernetes.io/zone=rig-a",
        f"--root-dir={layout.paths.kubelet}",
        f"--cert-dir={layout.paths.kubelet}/pki",
    ]


def _coredns(layout: Layout) -> list[str]:
    return [str(layout.bin("coredns")), "-conf", f"{layout.paths.config}/Corefile"]


def _provisioner(layout: Layout) -> list[str]:
    return [
        sys.executable,
        "-m",
        "e2e.rig.provisioner",
        f"{layout.paths.config}/provisioner.kubeconfig",
        str(layout.paths.volumes),
    ]


def _kube_router(layout: Layout) -> list[str]:
    return [
        str(layout.bin(ENFORCER)),
        f"-kubeconfig={layout.paths.config}/kube-router.kubeconfig",
        f"-node={NODE_NAME}",
        f"-services={layout.slot.services}",
    ]


_ARGUMENTS: dict[str, Callable[[Layout], list[str]]] = {
    "etcd": _etcd,
    "kube-apiserver": _apiserver,
    "containerd": _containerd,
    "kube-controller-manager": _controller_manager,
    "kube-scheduler": _scheduler,
    "kube-proxy": _proxy,
    "kubelet": _kubelet,
    "coredns": _coredns,
    "provisioner": _provisioner,
    ENFORCER: _kube_router,
}
