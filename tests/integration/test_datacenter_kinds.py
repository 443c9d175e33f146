"""The CRDs of datacenters on a real API server: accepted without a warning, each rule refuses with
the message of the operator, and no field grants forbidden privileges."""

import json
import re
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import pytest_asyncio

from contracts.datacenter.kinds import DATACENTERS, SERVICE_SETS, WORKLOADS
from contracts.datacenter.objects import Datacenter
from contracts.datacenter.rules.all_rules import (
    BODY_RULES,
    DATACENTER_RULES,
    WORKLOAD_RULES,
    datacenter_violations,
)
from e2e.rig import Rig, RigError
from runtime.client.client import Client
from runtime.errors import Invalid
from runtime.types import Object, ObjectKey, Resource, uid_of
from tests.contracts.datacenter.cases import CASES, CODE_CASES, TWICE_CASES, UNIQUE_CASES, Case
from tests.contracts.datacenter.fine import FINE, VAULT_CASES
from tests.contracts.datacenter.services import (
    datacenter_object,
    helper,
    on_each_node,
    service,
    set_object,
    vault,
    with_main,
    with_parts,
    workload_object,
)

MANAGER = "itest"
KINDS = (DATACENTERS, SERVICE_SETS, WORKLOADS)
MESSAGES = {
    **{rule.id: rule.message for rule in DATACENTER_RULES},
    **{rule.id: rule.message for rule in WORKLOAD_RULES},
}
PLACES: dict[str, tuple[Resource, str, Callable[[dict[str, Any]], Object]]] = {
    "datacenter": (DATACENTERS, "spec.bootstrapServices[0]", datacenter_object),
    "set": (SERVICE_SETS, "spec.services[0]", set_object),
    "workload": (WORKLOADS, "spec.service", workload_object),
}
each_place = pytest.mark.parametrize(("kind", "path", "made"), PLACES.values(), ids=PLACES.keys())
Make = Callable[[dict[str, Any]], Object]


@pytest_asyncio.fixture
async def server(control_plane_with_crds: Rig, client: Client) -> AsyncIterator[Client]:
    """The cluster administrator, on a server with the CRDs."""
    yield client


async def _apply(client: Client, kind: Resource, body: Object, *, dry_run: bool = True) -> Object:
    response = await client.apply(kind, body, field_manager=MANAGER, force=True, dry_run=dry_run)
    return response.object


async def _causes(client: Client, kind: Resource, body: Object) -> list[tuple[str, str]]:
    with pytest.raises(Invalid) as caught:
        await _apply(client, kind, body)
    return [(cause.field or "", cause.message) for cause in caught.value.causes]


def _says(causes: list[tuple[str, str]], rule: str, field: str) -> bool:
    """Whether exactly one cause is that of the rule, at the field or its parent."""
    results = [where for where, message in causes if MESSAGES[rule] in message]
    return len(results) == 1 and bool(results[0]) and field.startswith(results[0])


@each_place
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
async def test_it_is_refused_with_the_message_of_the_operator(
    server: Client, kind: Resource, path: str, made: Make, case: Case
) -> None:
    causes = await _causes(server, kind, made(case.service))
    assert _says(causes, f"service-{case.rule}", f"{path}.{case.field}")


@each_place
@pytest.mark.parametrize("body", FINE.values(), ids=FINE.keys())
async def test_it_is_accepted(
    server: Client, kind: Resource, path: str, made: Make, body: dict[str, Any]
) -> None:
    stored = await _apply(server, kind, made(body))
    assert stored["kind"] == kind.kind


@pytest.mark.parametrize("case", CODE_CASES.values(), ids=CODE_CASES.keys())
async def test_rules_without_cel_are_checked_by_the_operator(server: Client, case: Case) -> None:
    """The operator refuses the object that the API server stored with its defaults."""
    stored = await _apply(server, DATACENTERS, datacenter_object(case.service))
    violations = datacenter_violations(Datacenter.from_object(stored))
    assert {violation.rule for violation in violations} == {f"service-{case.rule}"}


@pytest.mark.parametrize(
    "spec", [spec for spec, *_ in VAULT_CASES.values()], ids=VAULT_CASES.keys()
)
async def test_the_spec_of_a_vault_is_free_data_to_the_api_server(
    server: Client, spec: dict[str, Any]
) -> None:
    stored = await _apply(server, DATACENTERS, datacenter_object(vault(openbao=spec)))
    assert stored["spec"]["bootstrapServices"][0]["openbao"] == spec
    assert datacenter_violations(Datacenter.from_object(stored)) != ()


@pytest.mark.parametrize(
    "body",
    [
        *(case.service for case in UNIQUE_CASES.values()),
        *(case.service for case, _ in TWICE_CASES.values()),
    ],
    ids=[*UNIQUE_CASES, *TWICE_CASES],
)
async def test_a_list_takes_each_key_once(server: Client, body: dict[str, Any]) -> None:
    """By its type; no CEL is needed for it."""
    with pytest.raises(Exception, match="duplicate"):
        await _apply(server, DATACENTERS, datacenter_object(body))


@pytest.mark.parametrize(
    ("kind", "made", "path"),
    [
        (DATACENTERS, datacenter_object, "spec.bootstrapServices"),
        (SERVICE_SETS, set_object, "spec.services"),
    ],
)
class TestLists:
    async def test_a_name_twice_is_refused(
        self, server: Client, kind: Resource, made: Callable[..., Object], path: str
    ) -> None:
        with pytest.raises(Exception, match="duplicate"):
            await _apply(server, kind, made(service(), service()))

    @pytest.mark.parametrize(
        "bodies",
        [
            [service("a", dependsOn=["b"]), service("b", dependsOn=["a"])],
            [vault("v", dependsOn=["a"]), service("a", dependsOn=["openbao:ready"])],
        ],
        ids=["names", "all vaults"],
    )
    async def test_circular_dependencies_are_refused(
        self,
        server: Client,
        kind: Resource,
        made: Callable[..., Object],
        path: str,
        bodies: list[dict[str, Any]],
    ) -> None:
        assert _says(await _causes(server, kind, made(*bodies)), "services-circle", path)

    async def test_a_list_in_order_is_accepted(
        self, server: Client, kind: Resource, made: Callable[..., Object], path: str
    ) -> None:
        bodies = [
            service("a", dependsOn=["b", "elsewhere"]),
            service("b", dependsOn=["openbao:ready"]),
            vault("v", dependsOn=["c"]),
            service("c"),
        ]
        await _apply(server, kind, made(*bodies))


SHAPES: dict[str, tuple[dict[str, Any], str]] = {
    "a service with a parent segment": (service("../x"), "name"),
    "a container with a parent segment": (with_parts(helper("../x")), "services[1].name"),
    "a Secret with a parent segment": (
        with_main(secrets=[{"name": "../x", "mountPath": "/a"}]),
        "services[0].secrets[0].name",
    ),
    "a Secret of another namespace": (
        with_main(env=[{"name": "A", "secret": {"name": "kube-system/x", "key": "k"}}]),
        "services[0].env[0].secret.name",
    ),
    "no image": (with_main(image=""), "services[0].image"),
    "another kind": (service(kind="ClusterRole"), "kind"),
    "a negative user": (service(runAsUser=-1), "runAsUser"),
    "a host path with a parent segment": (
        on_each_node(
            {"name": "a", "mountPath": "/a", "kind": "HostPath", "hostPath": "/var/log/../lib"}
        ),
        "services[0].volumes[0].hostPath",
    ),
}


@each_place
@pytest.mark.parametrize(("body", "field"), SHAPES.values(), ids=SHAPES.keys())
async def test_a_value_that_violates_the_schema_of_its_field_is_refused(
    server: Client, kind: Resource, path: str, made: Make, body: dict[str, Any], field: str
) -> None:
    whole = made(body)
    # The name of a BootstrapWorkload contains that of its service, which would be refused first.
    whole["metadata"]["name"] = "a"
    causes = await _causes(server, kind, whole)
    assert f"{path}.{field}" in {where for where, _ in causes}


UNKNOWN: dict[str, tuple[dict[str, Any], str]] = {
    "nfs": (
        with_main(volumes=[{"name": "a", "mountPath": "/a", "nfs": {"path": "/"}}]),
        "services[0].volumes[0].nfs",
    ),
    "privileged": (with_main(privileged=True), "services[0].privileged"),
    "securityContext": (
        with_main(securityContext={"privileged": True}),
        "services[0].securityContext",
    ),
    "namespace": (service(namespace="kube-system"), "namespace"),
    "namespace of a Secret": (
        with_main(secrets=[{"name": "a", "mountPath": "/a", "namespace": "other"}]),
        "services[0].secrets[0].namespace",
    ),
    "hostNetwork": (service(hostNetwork=True), "hostNetwork"),
}


@each_place
@pytest.mark.parametrize(("body", "field"), UNKNOWN.values(), ids=UNKNOWN.keys())
def test_fields_with_more_privileges_do_not_exist(
    control_plane_with_crds: Rig,
    kind: Resource,
    path: str,
    made: Make,
    body: dict[str, Any],
    field: str,
) -> None:
    """kubectl requests strict field validation; without it the API server prunes the field."""
    text, where = json.dumps(made(body)), re.escape(f"{path}.{field}")
    with pytest.raises(RigError, match=f'unknown field "{where}"'):
        control_plane_with_crds.kubectl("apply", "--dry-run=server", "-f", "-", input=text)
    lax = ("apply", "--dry-run=server", "--validate=false", "-o", "json", "-f", "-")
    stored = json.loads(control_plane_with_crds.kubectl(*lax, input=text))["spec"]
    # The namespace of the datacenter itself is a valid field.
    stored.pop("namespace", None)
    assert f'"{field.rpartition(".")[2]}":' not in json.dumps(stored)


NAMED: list[tuple[str, Resource, Object]] = [
    ("datacenter-name", DATACENTERS, datacenter_object(name="1fra")),
    ("datacenter-name", DATACENTERS, datacenter_object(name="fra.1")),
    ("datacenter-name", DATACENTERS, datacenter_object(name="a" * 64)),
    ("workload-name", WORKLOADS, workload_object(service(), name="fra1-log-shipper")),
]


@pytest.mark.parametrize(("rule", "kind", "body"), NAMED)
async def test_a_name_is_refused(server: Client, rule: str, kind: Resource, body: Object) -> None:
    causes = await _causes(server, kind, body)
    assert [MESSAGES[rule] in message for _, message in causes] == [True]


async def test_a_namespace_of_kubernetes_is_refused(server: Client) -> None:
    causes = await _causes(server, DATACENTERS, datacenter_object(namespace="kube-system"))
    assert _says(causes, "datacenter-namespace-system", "spec.namespace")


async def test_only_the_namespace_is_immutable(server: Client) -> None:
    before = datacenter_object(service(), name="moving")
    live = await _apply(server, DATACENTERS, before, dry_run=False)
    try:
        moved = datacenter_object(service(), name="moving", namespace="dc-fra2")
        causes = await _causes(server, DATACENTERS, moved)
        assert _says(causes, "datacenter-namespace-fixed", "spec.namespace")
        after = datacenter_object(service(replicas=2), name="moving", state="Draining", region="eu")
        assert (await _apply(server, DATACENTERS, after))["spec"]["state"] == "Draining"
    finally:
        await server.delete(DATACENTERS, ObjectKey("", "moving"), uid=uid_of(live))


@pytest.mark.parametrize(("services", "expected"), [(None, None), ([], [])])
async def test_an_absent_list_is_not_stored_as_an_empty_one(
    server: Client, services: list[Object] | None, expected: list[Object] | None
) -> None:
    body = datacenter_object(name="fra1", bootstrapServices=services)
    stored = await _apply(server, DATACENTERS, body)
    assert stored["spec"].get("bootstrapServices") == expected


async def test_the_largest_object_is_validated_in_time(server: Client) -> None:
    """The cost limit of rules is an estimate; this checks the actual cost."""
    ports = [{"name": f"p{number}", "port": 1000 + number} for number in range(32)]
    env = [{"name": f"V{number}", "value": "x"} for number in range(16)]
    helpers = [helper(f"s{at}", dependsOn=[f"s{at + 1}"], env=env[:2]) for at in range(14)]
    parts = [{**with_main(ports=ports, env=env)["services"][0]}, *helpers, helper("s14")]
    bodies = [
        service(f"a{at}", services=parts, dependsOn=[f"a{at + 1}"] if at < 31 else [])
        for at in range(32)
    ]
    stored = await _apply(server, DATACENTERS, datacenter_object(*bodies))
    assert len(stored["spec"]["bootstrapServices"]) == 32
    assert datacenter_violations(Datacenter.from_object(stored)) == ()


# --- columns ------------------------------------------------------------------------------------

MOMENT = "2999-01-01T03:00:00Z"
UNREADY = {
    "type": "Ready", "status": "False", "reason": "ServicesFailed", "message": "m",
    "lastTransitionTime": MOMENT,
}  # fmt: skip
# short name: (kind, object, status, the columns of kubectl get -o wide; AGE is not compared)
COLUMNS: dict[str, tuple[Resource, Object, Object, dict[str, str]]] = {
    "dc": (
        DATACENTERS,
        datacenter_object(service(), name="shown", region="eu"),
        {"summary": "1/2", "conditions": [UNREADY]},
        {
            "NAME": "shown", "PROVIDER": "kubernetes", "REGION": "eu", "STATE": "Active",
            "SERVICES": "1/2", "READY": "False", "AGE": "", "REASON": "ServicesFailed",
        },
    ),
    "bss": (
        SERVICE_SETS,
        set_object(service(), name="shown", priority=5),
        {},
        {"NAME": "shown", "PRIORITY": "5", "AGE": ""},
    ),
    "bws": (
        WORKLOADS,
        workload_object(service()),
        {
            "state": "Failed", "ready": "0/1", "attempts": 3, "message": "again-later",
            "nextRetryTime": MOMENT, "lastError": {"reason": "Forbidden", "message": "no-rights"},
        },
        {
            "NAME": "fra1.log-shipper", "DATACENTER": "fra1", "SERVICE": "log-shipper",
            "SOURCE": "declared", "KIND": "Deployment", "STATE": "Failed", "READY": "0/1",
            "ATTEMPTS": "3", "AGE": "", "NEXT-RETRY": MOMENT, "MESSAGE": "again-later",
            "ERROR": "no-rights",
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("short", COLUMNS)
async def test_the_columns(control_plane_with_crds: Rig, server: Client, short: str) -> None:
    kind, body, status, expected = COLUMNS[short]
    live = await _apply(server, kind, body, dry_run=False)
    try:
        if status:
            whole = {key: body[key] for key in ("apiVersion", "kind", "metadata")}
            await server.apply(
                kind, {**whole, "status": status}, field_manager=MANAGER, force=True,
                subresource="status",
            )  # fmt: skip
        get = ("get", short, body["metadata"]["name"], "-o", "wide")
        header, row = control_plane_with_crds.kubectl(*get).splitlines()
    finally:
        await server.delete(kind, ObjectKey("", live["metadata"]["name"]), uid=uid_of(live))
    assert header.split() == [*expected]
    shown = dict(zip(header.split(), row.split(), strict=True))
    assert {**shown, "AGE": ""} == expected


def test_every_rule_with_cel_has_a_case() -> None:
    assert {case.rule for case in CASES.values()} == {rule.id for rule in BODY_RULES if rule.cel}
