"""The configuration files of the servers, as text. Flags are in components.py.

All paths that default to /run or /var are set to the folder of the rig.
"""

from base64 import b64encode
from typing import Any

import orjson
import yaml

from e2e.rig.images import PAUSE_IMAGE
from e2e.rig.layout import Layout
from e2e.rig.paths import write_atomically
from e2e.rig.pki import Subject

# Clients of the API server, by name of their kubeconfig.
USERS = {
    "admin": Subject("admin", ("system:masters",)),
    "coredns": Subject("rig-coredns", ("system:masters",)),
    "provisioner": Subject("rig-provisioner", ("system:masters",)),
    "kube-controller-manager": Subject("system:kube-controller-manager"),
    "kube-scheduler": Subject("system:kube-scheduler"),
    "kube-proxy": Subject("system:kube-proxy"),
    "kube-router": Subject("rig-kube-router", ("system:masters",)),
    "kubelet-client": Subject("rig-apiserver", ("system:masters",)),
}


def kubeconfig(layout: Layout, user: str) -> bytes:
    """Return a kubeconfig as JSON, which is YAML too, with embedded certificates."""
    pki = layout.paths.pki

    def base64_of(name: str) -> str:
        return b64encode((pki / name).read_bytes()).decode()

    name = layout.network_name
    cluster = {"server": layout.server, "certificate-authority-data": base64_of("ca.crt")}
    identity = {
        "client-certificate-data": base64_of(f"{user}.crt"),
        "client-key-data": base64_of(f"{user}.key"),
    }
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": user, "user": identity}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": user}}],
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2)


def audit_policy() -> bytes:
    """Return the policy that logs each completed request once, including Lease renewals."""
    return orjson.dumps(
        {
            "apiVersion": "audit.k8s.io/v1",
            "kind": "Policy",
            "omitStages": ["RequestReceived"],
            "rules": [{"level": "Metadata"}],
        }
    )


def containerd(layout: Layout) -> str:
    """Return config.toml.

    restrict_oom_score_adj: root without CAP_SYS_RESOURCE cannot lower the score, and all sandboxes
    would fail. netns_mounts_under_state_dir: pod namespaces stay in the folder of the rig.
    """
    paths = layout.paths
    cri = '[plugins."io.containerd.grpc.v1.cri"'
    return f"""\
version = 2
root = "{paths.containerd}/root"
state = "{paths.containerd}/state"
[grpc]
  address = "{paths.containerd_socket}"
[plugins."io.containerd.internal.v1.opt"]
  path = "{paths.containerd}/opt"
{cri}]
  sandbox_image = "{PAUSE_IMAGE}"
  disable_apparmor = true
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
{cri}.containerd]
  snapshotter = "overlayfs"
{cri}.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
{cri}.containerd.runtimes.runc.options]
  SystemdCgroup = false
  Root = "{paths.containerd}/runc"
{cri}.registry]
  config_path = "{paths.registries}"
{cri}.cni]
  bin_dir = "/usr/lib/cni"
  conf_dir = "{paths.cni}"
"""


def pod_network(layout: Layout) -> bytes:
    """Return the CNI chain: a bridge, addresses by host-local, port mappings."""
    addresses = {
        "type": "host-local",
        "ranges": [[{"subnet": str(layout.slot.pods)}]],
        "routes": [{"dst": "0.0.0.0/0"}],
        "dataDir": f"{layout.paths.cni}/leases",
    }
    bridge = {
        "type": "bridge",
        "bridge": "cni0",
        "isGateway": True,
        "ipMasq": True,
        "hairpinMode": True,
        "ipam": addresses,
    }
    ports = {"type": "portmap", "capabilities": {"portMappings": True}}
    return orjson.dumps(
        {"cniVersion": "0.4.0", "name": layout.network_name, "plugins": [bridge, ports]}
    )


def kubelet(layout: Layout) -> str:
    """Return the KubeletConfiguration (kubelet.config.k8s.io/v1beta1)."""
    paths = layout.paths
    document: dict[str, Any] = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "failCgroupV1": False,
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{layout.network_name}",
        "failSwapOn": False,
        "enforceNodeAllocatable": [],
        "containerRuntimeEndpoint": f"unix://{paths.containerd_socket}",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(paths.pki / "ca.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(paths.pki / "kubelet.crt"),
        "tlsPrivateKeyFile": str(paths.pki / "kubelet.key"),
        "address": str(layout.slot.node),
        "clusterDNS": [str(layout.slot.node)],
        "clusterDomain": "cluster.local",
        "resolvConf": "",
        "evictionHard": {
            "memory.available": "50Mi",
            "nodefs.available": "1%",
            "nodefs.inodesFree": "1%",
            "imagefs.available": "1%",
            "imagefs.inodesFree": "1%",
        },
        "imageGCHighThresholdPercent": 100,
        "maxPods": 250,
        "serializeImagePulls": False,
        "kubeAPIQPS": 50,
        "kubeAPIBurst": 100,
        "volumePluginDir": f"{paths.kubelet}/volume-plugins",
        "podLogsDir": f"{paths.log}/pods",
    }
    return yaml.safe_dump(document)


def corefile(layout: Layout) -> str:
    """Return the configuration of CoreDNS.

    Without the cache plugin: the kubernetes plugin answers from memory, and the name of a pod has
    to resolve as soon as its address is known. External names are not resolved.
    """
    return f"""\
cluster.local in-addr.arpa ip6.arpa {{
    bind {layout.slot.node}
    errors
    ready {layout.slot.node}:8181
    kubernetes cluster.local in-addr.arpa ip6.arpa {{
        kubeconfig {layout.paths.config}/coredns.kubeconfig
        ttl 5
    }}
}}
. {{
    bind {layout.slot.node}
    template ANY ANY . {{
        rcode NXDOMAIN
    }}
}}
"""


def write(layout: Layout) -> None:
    """Write all configuration files of this rig. The certificates must exist."""
    folder = layout.paths.config
    write_atomically(folder / "audit-policy.yaml", audit_policy())
    users = ["admin"] if layout.control_plane_only else [*USERS, "kubelet"]
    for user in users:
        write_atomically(folder / f"{user}.kubeconfig", kubeconfig(layout, user), mode=0o600)
    if layout.control_plane_only:
        return
    write_atomically(folder / "containerd.toml", containerd(layout))
    write_atomically(folder / "kubelet.yaml", kubelet(layout))
    write_atomically(folder / "Corefile", corefile(layout))
    write_atomically(layout.paths.cni / "10-rig.conflist", pod_network(layout))
