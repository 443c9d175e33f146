"""The objects of `helm template` equal those of the overlays; each value has its effect."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from contracts.naming.installation import NAMESPACE
from e2e.harness.overlays import LISTED
from e2e.helm.chart import VERSION, Helm, HelmError, Object
from e2e.rig.paths import REPOSITORY
from release.chart.variants import Key, key
from release.manifests import IMAGE_NAME, MODES

KEEP = {"helm.sh/resource-policy": "keep"}
DEFINITION = "CustomResourceDefinition"
LIST = "--set", f"namespaces={{{','.join(LISTED)}}}"


@pytest.fixture(scope="module")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """Helm, and the chart."""
    return Helm.build(tmp_path_factory.mktemp("chart"))


def options(mode: str, *more: str) -> tuple[str, ...]:
    """The options of a mode."""
    return "--set", f"mode={mode}", *(LIST if mode == "namespace-list" else ()), *more


def by_key(objects: Iterable[Object]) -> dict[Key, Object]:
    """The objects by kind, namespace and name. Each must be unique."""
    listed = [(key(obj), obj) for obj in objects]
    by_name = dict(listed)
    assert len(by_name) == len(listed), "an object appears twice"
    return by_name


def default_objects(helm: Helm, mode: str) -> dict[Key, Object]:
    """Return the objects of a mode with the default values, by kind, namespace and name."""
    return by_key(orjson.loads(_template(helm, mode)))


@cache
def _template(helm: Helm, mode: str) -> bytes:
    # As text, because tests change the objects.
    return orjson.dumps(helm.template(NAMESPACE, *options(mode)))


def deployments(objects: Iterable[Object]) -> dict[str, Object]:
    """The specs of the pods of all Deployments, and their number of replicas, by name."""
    return {
        obj["metadata"]["name"]: {**obj["spec"]["template"]["spec"], "n": obj["spec"]["replicas"]}
        for obj in objects
        if obj["kind"] == "Deployment"
    }


@pytest.mark.parametrize("mode", MODES)
def test_each_mode_equals_its_overlay(helm: Helm, mode: str) -> None:
    text = helm.checkout.with_image(f"overlays/{mode}", IMAGE_NAME, VERSION)
    built = [document for document in yaml.load_all(text, yaml.CSafeLoader) if document]
    expected = by_key(obj for obj in built if obj["kind"] != "Namespace")
    rendered = by_key(helm.template(NAMESPACE, *options(mode, "--set", "crds.keep=false")))
    assert rendered.keys() == expected.keys()
    for name, fields in expected.items():
        assert rendered[name] == fields, name


@pytest.mark.parametrize("mode", MODES)
def test_another_namespace_is_set_in_every_object(helm: Helm, mode: str) -> None:
    moved = by_key(helm.template("bao-ops", *options(mode)))
    text = orjson.dumps([*default_objects(helm, mode).values()]).decode()
    assert moved == by_key(orjson.loads(text.replace(NAMESPACE, "bao-ops")))


def test_definitions_are_kept_by_default_and_can_be_left_out(helm: Helm) -> None:
    kept = [obj for obj in helm.template("ops") if obj["kind"] == DEFINITION]
    assert kept
    assert all(obj["metadata"]["annotations"] == KEEP for obj in kept)
    without = helm.template("ops", "--set", "crds.enabled=false")
    assert not [obj for obj in without if obj["kind"] == DEFINITION]


def test_every_value_reaches_the_pods(helm: Helm, tmp_path: Path) -> None:
    tolerations = [{"key": "dedicated", "operator": "Exists"}]
    variable = {"name": "OPERATOR_PLATFORM", "value": "openshift"}
    digest = "sha256:" + "0" * 64
    values = {
        "image": {"repository": "example.com/bao", "digest": digest, "pullPolicy": "Always"},
        "imagePullSecrets": [{"name": "pull"}],
        "replicas": 3,
        "resources": {"limits": {"memory": "1Gi"}},
        "provisioner": {"replicas": 1, "resources": {"limits": {"memory": "2Gi"}}},
        "logLevel": "debug",
        "openbaoImageRepository": "example.com/openbao",
        "extraEnv": [variable],
        "nodeSelector": {"disk": "ssd"},
        "tolerations": tolerations,
        "priorityClassName": "high",
    }
    (file := tmp_path / "values.yaml").write_text(yaml.safe_dump(values))
    with_file = helm.template("ops", *options("multi-tenant", "--values", str(file)))
    expected = {"openbao-operator": (3, "1Gi"), "openbao-operator-provisioner": (1, "2Gi")}
    for name, pod in deployments(with_file).items():
        (container,) = pod["containers"]
        assert (pod["n"], container["resources"]["limits"]["memory"]) == expected.pop(name)
        assert (container["image"], container["imagePullPolicy"]) == (
            f"example.com/bao@{digest}",
            "Always",
        )
        assert pod["imagePullSecrets"] == [{"name": "pull"}]
        assert (pod["nodeSelector"], pod["tolerations"]) == ({"disk": "ssd"}, tolerations)
        assert pod["priorityClassName"] == "high"
        assert container["env"][-3:] == [
            {"name": "LOG_LEVEL", "value": "debug"},
            {"name": "RELATED_IMAGE_OPENBAO", "value": "example.com/openbao"},
            variable,
        ]
    assert not expected


@pytest.mark.parametrize(
    ("value", "folder"),
    [
        ("monitoring.serviceMonitor=true", "monitoring"),
        ("monitoring.prometheusRule=true", "alerts"),
        ("monitoring.recordingRules=true", "recording-rules"),
        ("monitoring.grafanaDashboard=true", "grafana"),
        ("ownerReferencesPermission=true", "rbac/owner-references"),
    ],
)
def test_an_option_adds_its_folder(helm: Helm, value: str, folder: str) -> None:
    usual = by_key(helm.template(NAMESPACE))
    more = by_key(helm.template(NAMESPACE, "--set", value))
    added = {name: obj for name, obj in more.items() if name not in usual}
    assert added == by_key(helm.checkout.objects(folder))


@pytest.mark.parametrize("mode", MODES)
def test_each_shard_has_a_separate_deployment(helm: Helm, mode: str) -> None:
    alone = default_objects(helm, mode)
    divided = by_key(helm.template(NAMESPACE, *options(mode, "--set", "shards=3")))
    names = [f"openbao-operator-shard-{number}" for number in range(3)]
    usual = alone.pop(("Deployment", NAMESPACE, "openbao-operator"))
    added = {name: obj for name, obj in divided.items() if name not in alone}
    rights = by_key(helm.checkout.objects("rbac/shards"))
    assert added.keys() == {*rights, *(("Deployment", NAMESPACE, name) for name in names)}
    assert {name: added[name] for name in rights} == rights
    assert {name: obj for name, obj in divided.items() if name in alone} == alone
    for number, name in enumerate(names):
        deployment = added["Deployment", NAMESPACE, name]
        label = {"openbao.org/shard": str(number)}
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        assert {"name": "SHARD", "value": f"{number}/3"} in container["env"]
        assert label.items() <= deployment["spec"]["selector"]["matchLabels"].items()
        assert label.items() <= deployment["spec"]["template"]["metadata"]["labels"].items()
        text = yaml.safe_dump(deployment)
        assert text.count("openbao.org/shard") == 4, "its labels, selector, pod and affinity"
        container["env"].remove({"name": "SHARD", "value": f"{number}/3"})
        assert _without_label(deployment) == {
            **usual,
            "metadata": {**usual["metadata"], "name": name},
        }


def _without_label(content: Any) -> Any:
    if isinstance(content, list):
        return [_without_label(item) for item in content]
    if isinstance(content, dict):
        kept = {name: item for name, item in content.items() if name != "openbao.org/shard"}
        return {name: _without_label(item) for name, item in kept.items()}
    return content


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        (("--set", "mode=everywhere"), "mode"),
        (("--set", "mode=namespace-list"), "namespaces"),
        (("--set", "mode=cluster-wide", *LIST), "namespaces"),
        (("--set", "replica=3"), "replica"),
        (("--set", "shards=0"), "shards"),
        (("--set", "shards=17"), "shards"),
        (("--set", "image.digest=latest"), "digest"),
        (("--set", "logLevel=loud"), "logLevel"),
    ],
)
def test_an_invalid_value_is_refused(helm: Helm, given: tuple[str, ...], refusal: str) -> None:
    with pytest.raises(HelmError, match=refusal):
        helm.template("ops", *given)


@pytest.mark.parametrize("mode", MODES)
def test_helm_lint_finds_nothing(helm: Helm, mode: str) -> None:
    text = helm.run("lint", "--strict", str(helm.chart), *options(mode))
    assert "0 chart(s) failed" in text


def test_the_schema_has_the_values_of_the_chart() -> None:
    folder = REPOSITORY / "deploy" / "chart"
    values = yaml.safe_load((folder / "values.yaml").read_text())
    schema = yaml.safe_load((folder / "values.schema.json").read_text())
    assert values.keys() == schema["properties"].keys() - {"global"}
