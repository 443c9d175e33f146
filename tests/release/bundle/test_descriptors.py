"""Descriptors name fields that exist, in words, with the control that fits their type."""

from typing import Any

import pytest
import yaml

from release.bundle.descriptors import display_name, spec_descriptors, status_descriptors
from tests.house.checkout import ROOT

FILES = sorted((ROOT / "config" / "crd").glob("openbao.org_*.yaml"))


def definition(name: str) -> Any:
    return yaml.load((ROOT / "config" / "crd" / name).read_text(), yaml.CSafeLoader)


def by_path(descriptors: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {descriptor["path"]: descriptor for descriptor in descriptors}


def test_the_fields_of_a_cluster() -> None:
    fields = by_path(spec_descriptors(definition("openbao.org_openbaoclusters.yaml")))
    ui = "urn:alm:descriptor:com.tectonic.ui:"
    assert fields["replicas"]["x-descriptors"] == [f"{ui}podCount"]
    assert fields["paused"]["x-descriptors"] == [f"{ui}booleanSwitch"]
    assert fields["version"]["x-descriptors"] == [f"{ui}text"]
    assert fields["tls.mode"]["displayName"] == "Tls Mode"
    assert f"{ui}select:OperatorManaged" in fields["tls.mode"]["x-descriptors"]


def test_the_status_of_a_cluster() -> None:
    fields = by_path(status_descriptors(definition("openbao.org_openbaoclusters.yaml")))
    (conditions,) = fields["conditions"]["x-descriptors"]
    assert conditions == "urn:alm:descriptor:io.kubernetes.conditions"
    assert "currentVersion" in fields
    assert "blueGreen" not in fields


@pytest.mark.parametrize("file", [file.name for file in FILES])
def test_every_field_is_described_once(file: str) -> None:
    described = [*spec_descriptors(definition(file)), *status_descriptors(definition(file))]
    assert described
    assert not [descriptor["path"] for descriptor in described if not descriptor["description"]]
    paths = [spec_descriptor["path"] for spec_descriptor in spec_descriptors(definition(file))]
    assert len(paths) == len(set(paths))


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("replicas", "Replicas"),
        ("currentVersion", "Current Version"),
        ("secretKeyRef", "Secret Key Ref"),
        ("apiServerEndpointIPs", "Api Server Endpoint IPs"),
        ("caSecret", "Ca Secret"),
    ],
)
def test_the_display_name_of_a_field(field: str, words: str) -> None:
    assert display_name(field) == words
