"""baoctl upgrade plan: unknown states, and invalid arguments."""

import json
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from baoctl.cli import main
from tests import gen
from tests.baoctl.commands.upgrade.dumps import CLUSTER, NEW, OLD, PODS, dump

YOUNG = gen.cluster(version=OLD).with_status(phase="Initializing")


def call(text: str, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["upgrade", "plan", "-f", "-", *arguments], input=text)


def refusal(text: str, *arguments: str, status: int = 1) -> str:
    """The only line of standard error."""
    result = call(text, *arguments)
    assert (result.exit_code, result.stdout) == (status, "")
    return result.stderr.splitlines()[-1]


@pytest.mark.parametrize("status", [None, {}], ids=["none", "an empty one"])
def test_a_manifest_without_status_is_refused(status: dict[str, Any] | None) -> None:
    manifest = {**gen.cluster(version=OLD).object(), "status": status}
    for version in (OLD, NEW):
        line = refusal(yaml.safe_dump(manifest), "--to", version)
        assert "OpenBaoCluster ns/x has no status, so the version of its servers is unknown" in line
        assert "kubectl get openbaocluster,sts,pods,pvc -o yaml" in line


def test_servers_with_data_and_an_uninitialized_status_are_refused() -> None:
    line = refusal(dump(YOUNG), "--to", NEW)
    assert "ns/x: status.initialized is not true, but its servers have data" in line


def test_a_cluster_without_data_has_nothing_to_upgrade() -> None:
    result = call(dump(YOUNG, pods=()).replace("StatefulSet", "Set"), "--to", NEW, "-o", "json")
    read = json.loads(result.stdout)
    assert (result.exit_code, read["answer"], read["steps"]) == (0, "nothing", [])
    assert read["message"] == f"the cluster is not initialized: the first boot would use {NEW}"


@pytest.mark.parametrize(
    "version", ["banana", "2.5", "2.5.5.5", "", "v", "2.5.5 ", "02.5.5", "1" * 70]
)
@pytest.mark.parametrize("cluster", [CLUSTER, gen.cluster(version=OLD)], ids=["dump", "manifest"])
def test_an_invalid_version_is_refused(cluster: gen.Cluster, version: str) -> None:
    line = refusal(dump(cluster), "--to", version, status=2)
    assert line == (
        f"Error: Invalid value for --to: {version!r}: must be a version of OpenBao, "
        "MAJOR.MINOR.PATCH, as in 2.7.2; see main upgrade plan --help"
    )


def test_an_invalid_image_is_refused() -> None:
    line = refusal(dump(), "--to", NEW, "--image", "!!", status=2)
    assert "Invalid value for --image: '!!': must be the reference of an image" in line


def test_an_empty_image_selects_the_default_image() -> None:
    assert call(dump(), "--to", NEW, "--image", "").exit_code == 0


def test_an_object_of_another_api_version_is_refused() -> None:
    text = dump().replace("openbao.org/v1alpha1", "openbao.org/v9")
    assert "ns/x: apiVersion 'openbao.org/v9': must be openbao.org/v1alpha1" in refusal(
        text, "--to", NEW, status=4
    )


# sentence: the invalid part of a pod in the dump
SPOILED: dict[str, dict[str, Any]] = {
    "no spec": {"spec": None},
    "a status that is a list": {"status": [1]},
    "labels that are a number": {"status": {"containerStatuses": 5}},
    "an invalid time": {"status": {"conditions": [{"type": "Ready", "lastTransitionTime": 1}]}},
}


@pytest.mark.parametrize("spoiled", SPOILED.values(), ids=SPOILED.keys())
def test_a_malformed_pod_causes_no_traceback(spoiled: dict[str, Any]) -> None:
    items = [CLUSTER.object(), {"apiVersion": "v1", "kind": "Pod", **PODS[0].object(), **spoiled}]
    result = call(yaml.safe_dump_all(items), "--to", NEW)
    assert isinstance(result.exception, SystemExit | None)
    assert len(result.stderr.splitlines()) <= 1
