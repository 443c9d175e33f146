"""All files of the bundle, and the file with the objects that OLM does not install."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml

from baoctl.generate.yaml_file import to_yaml
from release.bundle.csv import PACKAGE, Texts, service_version
from release.bundle.objects import Parts, divide
from release.manifests import DEFAULT_MODE, Checkout, Object
from release.tarball import tarball

EXTRAS = "install-olm-extras.yaml"
CHANNEL = "alpha"
_SAMPLES = Path("config") / "samples"
_BUNDLE = Path("release") / "bundle"
EXAMPLES: Mapping[str, Path] = {
    "BootstrapServiceSet": _SAMPLES / "datacenter.yaml",
    # Only the operator writes this kind, so there is no sample; the validators require an example.
    "BootstrapWorkload": _BUNDLE / "bootstrap-workload.yaml",
    "Datacenter": _SAMPLES / "datacenter.yaml",
    "OpenBaoBackup": _SAMPLES / "backup.yaml",
    "OpenBaoCluster": _SAMPLES / "quickstart.yaml",
    "OpenBaoRestore": _SAMPLES / "restore.yaml",
    "OpenBaoTenant": _SAMPLES / "tenant.yaml",
}
"""The file with the example of each kind, in config/samples."""
_MEDIA = {
    "operators.operatorframework.io.bundle.mediatype.v1": "registry+v1",
    "operators.operatorframework.io.bundle.manifests.v1": "manifests/",
    "operators.operatorframework.io.bundle.metadata.v1": "metadata/",
    "operators.operatorframework.io.bundle.package.v1": PACKAGE,
    "operators.operatorframework.io.bundle.channels.v1": CHANNEL,
    "operators.operatorframework.io.bundle.channel.default.v1": CHANNEL,
}


def bundle_files(checkout: Checkout, version: str, image: str, home: str) -> Mapping[str, str]:
    """Return the files of the build context of the bundle image, by path.

    Raises UnknownObjectError for an overlay that the bundle cannot express.
    """
    parts = divided(checkout)
    examples = [example(checkout.root, kind) for kind in EXAMPLES]
    folder = checkout.root / _BUNDLE
    description = (folder / "description.md").read_text(encoding="utf-8")
    icon = (folder / "icon.svg").read_bytes()
    texts = Texts(version, image, home, description, icon, examples)
    manifests = {
        f"manifests/{PACKAGE}.clusterserviceversion.yaml": service_version(parts, texts),
        **{f"manifests/{_file(one)}": one for one in (*parts.definitions, *parts.others)},
    }
    return {
        "bundle.Dockerfile": "\n".join(_dockerfile()) + "\n",
        "metadata/annotations.yaml": to_yaml({"annotations": _MEDIA}),
        **{path: to_yaml(one) for path, one in manifests.items()},
    }


def bundle_archive(files: Mapping[str, str], version: str) -> bytes:
    """Pack the folder into a reproducible archive."""
    folder = f"{PACKAGE}-bundle-{version}"
    return tarball((f"{folder}/{path}", files[path].encode(), 0o644) for path in sorted(files))


def extras_file(checkout: Checkout, version: str) -> str:
    """Return the installation file with the objects that OLM cannot install."""
    header = (
        f"# openbao-operator {version}: objects that the Operator Lifecycle Manager does not "
        "install.\n"
        "# Apply it with the bundle: kubectl apply --server-side -f FILE\n"
    )
    return header + "---\n".join(to_yaml(one) for one in divided(checkout).extras)


def divided(checkout: Checkout) -> Parts:
    """Return the objects of the default mode, grouped for OLM."""
    return divide(checkout.objects(f"overlays/{DEFAULT_MODE}"))


def example(root: Path, kind: str) -> Object:
    """Return the first object of a kind in its file."""
    text = (root / EXAMPLES[kind]).read_text(encoding="utf-8")
    objects = yaml.load_all(text, yaml.CSafeLoader)
    first: Object = next(body for body in objects if body and body["kind"] == kind)
    return first


def _file(one: Object) -> str:
    return f"{one['metadata']['name']}_{one['kind'].lower()}.yaml"


def _dockerfile() -> Iterator[str]:
    yield "# docker build --file bundle.Dockerfile --tag IMAGE ."
    yield "FROM scratch"
    for name, value in _MEDIA.items():
        yield f"LABEL {name}={value}"
    yield "COPY manifests /manifests/"
    yield "COPY metadata /metadata/"
