"""The folder of the bundle: its metadata, and the same bytes each time."""

import io
import tarfile

import pytest

from release.bundle.csv import MIN_KUBERNETES
from release.bundle.files import EXAMPLES, bundle_archive, example
from tests.house.checkout import ROOT


def test_the_archive_is_reproducible() -> None:
    files = {"manifests/b.yaml": "b: 1\n", "bundle.Dockerfile": "FROM scratch\n"}
    packed = bundle_archive(files, "0.1.0")
    assert packed == bundle_archive(dict(reversed(files.items())), "0.1.0")
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        assert [member.name for member in tar.getmembers()] == [
            "openbao-operator-bundle-0.1.0/bundle.Dockerfile",
            "openbao-operator-bundle-0.1.0/manifests/b.yaml",
        ]


@pytest.mark.parametrize("kind", EXAMPLES)
def test_every_example_is_an_object_of_its_sample(kind: str) -> None:
    assert example(ROOT, kind)["kind"] == kind


def test_the_minimum_kubernetes_version_is_that_of_the_chart() -> None:
    chart = (ROOT / "deploy" / "chart" / "Chart.yaml").read_text(encoding="utf-8")
    assert f'kubeVersion: ">={MIN_KUBERNETES}-0"' in chart
