"""The CRD on a real API server: accepted without warnings, and each rule refuses."""

import asyncio
import copy
from typing import Any

import pytest

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.group import CLUSTERS
from contracts.api.rules.cluster import RULES, violations
from contracts.api.schema.crd import open_api_schema, walk
from contracts.conditions.condition import condition, merge
from contracts.naming.names import stateful_set
from e2e.rig import Rig, RigError
from runtime.client.client import Client
from runtime.clock import SystemClock
from runtime.errors import Invalid
from runtime.types import Object
from tests.contracts.api.case import Case
from tests.contracts.api.clusters import MANIFESTS, cluster_object
from tests.contracts.api.models import holds
from tests.contracts.api.rule_cases import CASES
from tests.contracts.api.rules.cluster_cases import ALLOWED_CHANGES, FINE

MESSAGES = {rule.id: rule.message for rule in RULES}
MANAGER = "itest"


def _body(namespace: str, name: str, spec: dict[str, Any]) -> Object:
    body = cluster_object(name, **spec)
    body["metadata"]["namespace"] = namespace
    return body


async def _apply(client: Client, body: Object, *, dry_run: bool) -> Object:
    response = await client.apply(
        CLUSTERS, body, field_manager=MANAGER, force=True, dry_run=dry_run
    )
    return response.object


async def _observe(client: Client, body: Object, status: dict[str, Any] | None) -> None:
    if status is not None:
        body = {key: body[key] for key in ("apiVersion", "kind", "metadata")} | {"status": status}
        await client.apply(CLUSTERS, body, field_manager=MANAGER, force=True, subresource="status")


@pytest.mark.usefixtures("control_plane_with_crds")
class TestRules:
    @pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
    async def test_it_is_refused_with_field_and_next_step(
        self, client: Client, namespace: str, case: Case
    ) -> None:
        if case.before is not None:
            body = _body(namespace, case.name, case.before)
            await _apply(client, body, dry_run=False)
            await _observe(client, body, case.status)
        with pytest.raises(Invalid) as caught:
            await _apply(client, _body(namespace, case.name, case.spec), dry_run=True)
        causes = [cause for cause in caught.value.causes if MESSAGES[case.rule] in cause.message]
        if case.spec == CASES["a rotation period too long to count"].spec:
            causes = list(caught.value.causes)
        assert len(causes) == 1
        if case.field.startswith("spec"):
            assert causes[0].field
            assert case.field.startswith(causes[0].field)
        else:
            assert case.field in causes[0].message

    @pytest.mark.parametrize("spec", FINE.values(), ids=FINE.keys())
    async def test_it_is_accepted(
        self, client: Client, namespace: str, spec: dict[str, Any]
    ) -> None:
        stored = await _apply(client, _body(namespace, "c", spec), dry_run=True)
        assert stored["spec"]["version"] == "2.4.0"

    @pytest.mark.parametrize(
        ("before", "after"), ALLOWED_CHANGES.values(), ids=ALLOWED_CHANGES.keys()
    )
    async def test_a_change_is_accepted(
        self, client: Client, namespace: str, before: dict[str, Any], after: dict[str, Any]
    ) -> None:
        await _apply(client, _body(namespace, "c", before), dry_run=False)
        await _apply(client, _body(namespace, "c", after), dry_run=True)

    @pytest.mark.parametrize("version", ["2.4.0", "v2.4.0"])
    async def test_an_upgrade_may_be_cancelled(
        self, client: Client, namespace: str, version: str
    ) -> None:
        body = _body(namespace, "c", {"version": "2.5.0"})
        upgrade = {"targetVersion": "2.5.0", "fromVersion": "2.4.0"}
        await _apply(client, body, dry_run=False)
        await _observe(client, body, {"currentVersion": "2.4.0", "upgrade": upgrade})
        await _apply(client, _body(namespace, "c", {"version": version}), dry_run=True)

    async def test_two_requests_of_one_name_are_refused(
        self, client: Client, namespace: str
    ) -> None:
        """A list map takes each key once; no CEL is needed for it."""
        request = {"name": "r", "operation": "update", "path": "kv/x", "data": {"a": "b"}}
        spec = {"selfInit": {"enabled": True, "requests": [request, request]}}
        with pytest.raises(Exception, match="duplicate"):
            await _apply(client, _body(namespace, "c", spec), dry_run=True)

    @pytest.mark.parametrize("manifest", MANIFESTS.values(), ids=MANIFESTS.keys())
    async def test_a_manifest_of_the_public_api_is_stored_whole(
        self, client: Client, namespace: str, manifest: Object
    ) -> None:
        """Strict field validation, so that a field that is missing in the schema is an error. What
        the API server stored, with its defaults, breaks no rule either."""
        body = copy.deepcopy(manifest)
        body["metadata"]["namespace"] = namespace
        stored = await _apply(client, body, dry_run=True)
        assert holds(stored["spec"], body["spec"])
        assert violations(OpenBaoCluster.from_object(stored)) == ()


async def test_the_columns_show_what_was_observed(
    control_plane_with_crds: Rig, client: Client, namespace: str
) -> None:
    body = _body(namespace, "c", {})
    stored = await _apply(client, body, dry_run=False)
    (ready,) = merge(
        [],
        [condition("Ready", "False", "Reconciling", "", stored["metadata"]["generation"])],
        SystemClock().now(),
    )
    status = {
        "ready": "2/3",
        "currentVersion": "2.4.0",
        "activeLeader": f"{stateful_set('c')}-1",
        "sealed": "false",
        "phase": "Initializing",
        "operation": {"kind": "Rolling", "done": 2, "total": 3, "summary": "Rolling-2/3"},
        "backup": {"lastBackupTime": stored["metadata"]["creationTimestamp"]},
        "conditions": [ready.to_object()],
    }
    body = {**body, "status": status}
    del body["spec"]
    await client.apply(CLUSTERS, body, field_manager=MANAGER, force=True, subresource="status")
    header, row = control_plane_with_crds.kubectl(
        "get", "baoc", "-n", namespace, "-o", "wide"
    ).splitlines()
    assert header.split() == [
        "NAME", "READY", "VERSION", "LEADER", "SEALED", "OPERATION", "BACKUP-AGE", "AGE",
        "REASON", "PHASE",
    ]  # fmt: skip
    columns = row.split()
    assert columns[:6] == ["c", "2/3", "2.4.0", "c-1", "false", "Rolling-2/3"]
    assert columns[8:] == ["Reconciling", "Initializing"]


async def test_kubectl_scales_a_cluster(
    control_plane_with_crds: Rig, client: Client, namespace: str
) -> None:
    await _apply(client, _body(namespace, "c", {}), dry_run=False)
    control_plane_with_crds.kubectl("scale", "-n", namespace, "bao/c", "--replicas=5")
    assert (
        control_plane_with_crds.kubectl(
            "get", "-n", namespace, "bao/c", "-o", "jsonpath={.spec.replicas}"
        )
        == "5"
    )
    with pytest.raises(RigError, match=r"spec\.replicas"):
        control_plane_with_crds.kubectl("scale", "-n", namespace, "bao/c", "--replicas=0")


async def _explain(rig: Rig, *arguments: str) -> str:
    """What kubectl explain prints; the API server publishes the schema a moment after the CRD."""
    async with asyncio.timeout(60):
        while True:
            try:
                text = rig.kubectl("explain", *arguments)
            except RigError:
                text = ""
            if "FIELDS" in text:
                return text
            await SystemClock().sleep(0.2)


async def test_explain_shows_defaults_units_and_examples(control_plane_with_crds: Rig) -> None:
    words = " ".join((await _explain(control_plane_with_crds, "openbaocluster.spec.tls")).split())
    assert "enum: OperatorManaged, External, ACME" in words
    assert "A Go duration from 1h to 8736h" in words
    assert "Default: 720h." in words
    assert "Example: 2026-01-31T12:00:00Z" in words


@pytest.mark.parametrize("part", ["spec", "status"])
async def test_explain_shows_every_field(control_plane_with_crds: Rig, part: str) -> None:
    """kubectl indents by two blanks; a field has a name, a tab and a type."""
    text = await _explain(control_plane_with_crds, f"openbaocluster.{part}", "--recursive")
    shown: list[str] = []
    above: list[str] = []
    for line in text.partition("FIELDS:")[2].splitlines():
        name, tab, _ = line.partition("\t")
        if tab:
            depth = (len(name) - len(name.lstrip())) // 2
            above = [*above[: depth - 1], name.strip()]
            shown.append(".".join([part, *above]))
    expected: list[str] = []
    walk(
        open_api_schema(), lambda path, _: expected.append(path.replace("[]", "").replace("{}", ""))
    )
    fields = {path for path in expected if path.startswith(f"{part}.")}
    assert set(shown) == fields
