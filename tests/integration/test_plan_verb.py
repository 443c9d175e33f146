"""`baoctl plan` on a real API server: the plan shows what kubectl would store."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from baoctl.cli import main
from contracts.api.group import CLUSTERS
from e2e.rig import Rig
from runtime.client.client import Client
from runtime.types import Object, ObjectKey, resource_version_of
from tests.contracts.api.clusters import cluster_object

SPEC: dict[str, Any] = {
    "version": "2.7.2",
    "profile": "Development",
    "replicas": 3,
    "storage": {"size": "1Gi"},
}
DEBUG = {"configuration": {"logLevel": "debug"}}
Kubectl = Callable[..., str]
Plan = Callable[..., Awaitable[Result]]


@pytest.fixture
def kubectl(control_plane_with_crds: Rig, namespace: str) -> Kubectl:
    def call(*words: str, body: Object) -> str:
        return control_plane_with_crds.kubectl(
            "-n", namespace, *words, "-f", "-", input=json.dumps(body)
        )

    return call


@pytest.fixture
def plan(control_plane_with_crds: Rig, namespace: str) -> Plan:
    async def call(body: Object, *options: str) -> Result:
        words = ["plan", "-f", "-", "-o", "json", "-n", namespace, *options]
        environ = {
            "KUBECONFIG": str(control_plane_with_crds.kubeconfig),
            "KUBERNETES_SERVICE_HOST": None,
        }
        text = yaml.safe_dump(body)
        return await asyncio.to_thread(CliRunner().invoke, main, words, input=text, env=environ)

    return call


def manifest(**spec: Any) -> Object:
    body = cluster_object("x", **{**SPEC, **spec})
    body["metadata"] = {"name": "x"}
    return body


def changes(result: Result) -> dict[str, tuple[Any, Any]]:
    """The fields of the cluster that differ, before and after."""
    assert result.exit_code == 0, result.output
    (one,) = json.loads(result.stdout)
    return {field["path"]: (field["before"], field["after"]) for field in one["spec"]}


@pytest.mark.parametrize("options", [(), ("--server-side",)], ids=["client-side", "server-side"])
async def test_a_field_that_was_removed_from_the_manifest_is_removed(
    kubectl: Kubectl, plan: Plan, client: Client, namespace: str, options: tuple[str, ...]
) -> None:
    kubectl("apply", *options, body=manifest(**DEBUG))
    before = await client.get(CLUSTERS, ObjectKey(namespace, "x"))
    forecast = changes(await plan(manifest(replicas=5)))
    assert forecast == {
        "spec.replicas": (3, 5),
        "spec.configuration": (before["spec"]["configuration"], None),
    }
    unchanged = await client.get(CLUSTERS, ObjectKey(namespace, "x"))
    assert resource_version_of(unchanged) == resource_version_of(before)
    kubectl("apply", *options, body=manifest(replicas=5))
    stored = await client.get(CLUSTERS, ObjectKey(namespace, "x"))
    assert (stored["spec"]["replicas"], "configuration" in stored["spec"]) == (5, False)
    assert changes(await plan(manifest(replicas=5))) == {}


async def test_defaults_of_the_api_server_are_no_change(kubectl: Kubectl, plan: Plan) -> None:
    kubectl("create", body=manifest())
    assert changes(await plan(manifest())) == {}


async def test_a_field_of_another_manager_is_refused_as_kubectl_does(
    kubectl: Kubectl, plan: Plan
) -> None:
    kubectl("apply", "--server-side", body=manifest())
    kubectl(
        "apply", "--server-side", "--force-conflicts", "--field-manager=gitops",
        body=manifest(replicas=5),
    )  # fmt: skip
    done = await plan(manifest(replicas=1))
    assert done.exit_code == 4
    assert '"gitops"' in done.stderr
    assert changes(await plan(manifest(replicas=1), "--field-manager", "gitops")) == {
        "spec.replicas": (5, 1)
    }


async def test_a_change_that_a_rule_of_the_schema_forbids_is_refused(
    kubectl: Kubectl, plan: Plan
) -> None:
    kubectl("apply", body=manifest(storage={"size": "2Gi"}))
    done = await plan(manifest())
    assert (done.exit_code, done.stdout) == (4, "")
    assert "spec.storage" in done.stderr
