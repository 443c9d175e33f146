"""The table of versions and the tool modules agree."""

import re

import orjson
import pytest
import semver

from e2e.rig import versions
from e2e.rig.paths import TOOLS
from e2e.rig.versions import Server
from tests.house.documents import lock_problems

SERVERS = (
    *(binary for binary in (*versions.CONTROL_PLANE, *versions.NODE) if isinstance(binary, Server)),
    versions.PAUSE_SERVER,
    versions.PEBBLE_SERVER,
    versions.BENCH,
    versions.COSIGN_TOOL,
    versions.CRANE_TOOL,
    versions.HELM_TOOL,
    versions.BUNDLE_VALIDATOR,
    versions.REGISTRY_SERVER,
    versions.MINIO_SERVER,
    versions.HCL_READER,
    versions.HOSTILE_SERVER,
    versions.KUBE_ROUTER_SERVER,
    versions.OPENBAO_OLDEST_SERVER,
    versions.KMS_PLUGIN_PROGRAM,
    versions.TOTP_PLUGIN_PROGRAM,
)
# Small programs of this repository, which are a module themselves.
OURS = (
    versions.PAUSE_SERVER, versions.BENCH, versions.HCL_READER, versions.HOSTILE_SERVER,
    versions.COREDNS_SERVER, versions.KUBE_ROUTER_SERVER, versions.KMS_PLUGIN_PROGRAM,
    versions.BUNDLE_VALIDATOR,
)  # fmt: skip
REQUIRED = {
    "k8s": ("k8s.io/kubernetes", versions.KUBERNETES),
    "etcd": ("go.etcd.io/etcd/server/v3", versions.ETCD),
    "coredns": ("github.com/coredns/coredns", versions.COREDNS),
    "kube-router": ("github.com/cloudnativelabs/kube-router/v2", versions.KUBE_ROUTER),
    "pebble": ("github.com/letsencrypt/pebble/v2", versions.PEBBLE),
    "cosign": ("github.com/sigstore/cosign/v3", versions.COSIGN),
    "crane": ("github.com/google/go-containerregistry", versions.CRANE),
    "helm": ("helm.sh/helm/v3", versions.HELM),
    "bundle-validator": ("github.com/operator-framework/api", versions.OPERATOR_FRAMEWORK),
    "registry": ("github.com/distribution/distribution/v3", versions.REGISTRY),
    "minio": ("github.com/minio/minio", versions.MINIO),
    "bao": ("github.com/openbao/openbao", versions.OPENBAO_SOURCE),
    "gateway-api": ("sigs.k8s.io/gateway-api", versions.GATEWAY_API),
    "hcl": ("github.com/hashicorp/hcl", versions.HCL),
    "kms-plugin": ("github.com/openbao/go-kms-wrapping/plugin/v2", versions.KMS_PLUGIN),
}


def test_the_kms_plugin_requires_the_seal_version_of_the_table() -> None:
    text = (TOOLS / "kms-plugin" / "go.mod").read_text()
    assert f"github.com/openbao/go-kms-wrapping/wrappers/awskms/v2 {versions.AWS_KMS}\n" in text


@pytest.mark.parametrize("module", REQUIRED)
def test_go_mod_requires_the_version_of_the_table(module: str) -> None:
    path, version = REQUIRED[module]
    text = (TOOLS / module / "go.mod").read_text()
    assert re.search(rf"^\s*(require )?{re.escape(path)} {re.escape(version)}\b", text, re.M)


def test_every_staging_module_of_kubernetes_is_pinned_to_the_same_release() -> None:
    text = (TOOLS / "k8s" / "go.mod").read_text()
    pinned = re.findall(r"^\s*(?:replace )?(k8s\.io/\S+) => \1 (\S+)$", text, re.M)
    release = "v0." + versions.KUBERNETES.removeprefix("v1.")
    assert len(pinned) > 25
    assert {version for _, version in pinned} == {release}


@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.name)
def test_every_server_is_a_tool_of_its_module(server: Server) -> None:
    text = (TOOLS / server.module / "go.mod").read_text()
    if server in OURS:
        assert f"module {server.package}\n" in text
    else:
        assert re.search(rf"^\s*(tool )?{re.escape(server.package)}$", text, re.M)


def test_the_hcl_parser_has_the_version_of_the_server() -> None:
    text = (TOOLS / "bao" / "go.mod").read_text()
    assert f"github.com/hashicorp/hcl {versions.HCL} " in text


def test_the_build_stamps_contain_the_version() -> None:
    kubelet = next(server for server in versions.NODE if server.name == "kubelet")
    assert f"gitVersion={versions.KUBERNETES} " in kubelet.stamps
    assert "gitMajor=1 " in kubelet.stamps
    assert kubelet.stamps.endswith("gitMinor=36")
    assert versions.OPENBAO_OLDEST_SERVER.stamps.endswith("fullVersion=2.4.0")


def test_servers_in_other_languages_are_locked_at_the_versions_of_the_table() -> None:
    for name, version in {"moto": versions.MOTO, "pykmip": versions.PYKMIP}.items():
        locked = (TOOLS / name / "requirements.txt").read_text()
        assert re.search(rf"^{name}=={re.escape(version)}\b", locked, re.M)
    folder = TOOLS / "azurite"
    dependencies = orjson.loads((folder / "package.json").read_bytes())["dependencies"]
    tree = orjson.loads((folder / "package-lock.json").read_bytes())["packages"]
    assert dependencies == {"azurite": versions.AZURITE}
    assert tree["node_modules/azurite"]["version"] == versions.AZURITE


def test_an_npm_lock_file_has_hashes_and_no_registry() -> None:
    text = (TOOLS / "azurite" / "package-lock.json").read_text()
    packages = orjson.loads(text)["packages"]
    assert [name for name, package in packages.items() if name and "integrity" not in package] == []
    # The file contains no registry and no URL: after `npm install --package-lock-only`, remove
    # "resolved", "funding" and licenses that are links.
    assert "://" not in text


@pytest.mark.parametrize(
    "lock",
    [
        "moto/requirements.txt",
        "pykmip/requirements.txt",
        "azurite/node.txt",
        *(f"wheels/{wheel.package}-{wheel.version}.txt" for wheel in versions.WHEELS),
    ],
)
def test_python_lock_files_have_hashes_and_no_index(lock: str) -> None:
    assert list(lock_problems(lock, (TOOLS / lock).read_text())) == []


def test_lock_files_match_the_table_of_wheels() -> None:
    locks = {file.stem: file.read_text() for file in (TOOLS / "wheels").iterdir()}
    assert locks.keys() == {f"{wheel.package}-{wheel.version}" for wheel in versions.WHEELS}
    for wheel in versions.WHEELS:
        text = locks[f"{wheel.package}-{wheel.version}"]
        assert text.startswith(f"{wheel.package}=={wheel.version} ")


@pytest.mark.parametrize("module", ["coredns", "etcd"])
def test_dependencies_shared_with_kubernetes_have_one_version(module: str) -> None:
    """Go compiles a package once for all modules with the same version of it and of its imports."""
    shared = _required_version(module).keys() & _required_version("k8s").keys()
    assert len(shared) > 30
    assert {name: _required_version(module)[name] for name in shared} == {
        name: _required_version("k8s")[name] for name in shared
    }


def _required_version(module: str) -> dict[str, str]:
    text = (TOOLS / module / "go.mod").read_text()
    return dict(re.findall(r"^\s*(\S+\.\S+/\S+) (v\S+)(?: // indirect)?$", text, re.M))


def test_releases_are_in_upgrade_order() -> None:
    ordered = sorted(versions.OPENBAO_RELEASES, key=semver.Version.parse)
    assert list(versions.OPENBAO_RELEASES) == ordered
    assert versions.OPENBAO_UPGRADES[0] == versions.OPENBAO_PREVIOUS
    assert versions.OPENBAO_UPGRADES[-1] == versions.OPENBAO == ordered[-1]
