"""The tables of fields that need a permission: each is a field of the API, and none is missing.

The fields that need no permission are listed here, with the reason.
"""

from collections.abc import Iterator
from typing import Any, ClassVar

from contracts.admission.backups_and_restores import VALIDATE_RESTORE
from contracts.admission.datacenters import GATES as DATACENTER_GATES
from contracts.admission.referenced_objects import RESTORE_USES, USES
from contracts.admission.secrets import (
    AT_MOST,
    CONFIG_MAP,
    REFERENCES,
    RESTORE_AT_MOST,
    RESTORE_REFERENCES,
    SECRET_VALIDATIONS,
)
from contracts.admission.user_roles import DELEGATED, FORMER, PLATFORM, USUAL
from contracts.admission.verb_gated_fields import GATES, RESTORE, RESTORE_GATES, VERBS
from contracts.api.group import CLUSTERS, GROUP, TENANTS
from contracts.api.restore import RestoreSpec
from contracts.api.schema import restore
from contracts.api.schema.crd import Schema, open_api_schema, walk
from tests.contracts.api.secret_references import REFERENCES as SECRETS_OF_THE_MODELS
from tests.contracts.api.secret_references import references

TEMPLATE = "spec.backup.restoreTest.clusterTemplate"
NOT_ASKED = {
    # The image of the servers. It runs under the ServiceAccount that the author of the cluster
    # chose anyway, and imageVerification defines its signers.
    "spec.image": "image",
    f"{TEMPLATE}.image": "image",
    # The operator never creates this container.
    "spec.initContainer.image": "image",
    f"{TEMPLATE}.initContainer.image": "image",
    # Metadata for Prometheus; it gives no access.
    "spec.observability.metrics.serviceMonitor.annotations": "annotations",
}
# The CEL cost of an authorizer check, and the cost limits of one expression and of one policy.
CHECK, EXPRESSION, BUDGET = 350_000, 1_000_000, 10_000_000


def _paths(schema: Schema) -> set[str]:
    results: list[str] = []
    walk(schema, lambda path, _: results.append(path))
    return {path for path in results if path.startswith("spec.")}


PATHS = _paths(open_api_schema())
GATED = {gate.field for gate in GATES}
USED = {use.field for use in USES}
RESTORE_PATHS = _paths(restore.open_api_schema())
RESTORE_GATED = {gate.field for gate in RESTORE_GATES}
RESTORE_USED = {use.field for use in RESTORE_USES}
_METADATA = ("annotations", "serviceAccountAnnotations", "podLabels", "roleArn")
_OBJECTS = ("storageClassName", "existingClaimName", "claimName", "className", "gatewayRef")


def _ending(*ends: str, paths: set[str] = PATHS) -> set[str]:
    return {path for path in paths if path.rpartition(".")[2] in ends}


def _is_covered(path: str, fields: set[str]) -> bool:
    """Whether a field or something around it is in a table."""
    return any(path == field or path.startswith((f"{field}.", f"{field}[")) for field in fields)


def test_every_field_of_the_tables_is_one_of_the_api() -> None:
    named = {reference.field for reference in REFERENCES} | {CONFIG_MAP}
    assert GATED | USED | named <= PATHS


def test_every_secret_reference_needs_permission() -> None:
    assert {reference.field for reference in REFERENCES} == {
        f"spec.{path}" for path in SECRETS_OF_THE_MODELS
    }


def test_every_other_object_reference_needs_permission() -> None:
    names = _ending(*_OBJECTS)
    accounts = {path for path in PATHS if path.endswith("serviceAccount.name")}
    assert names | accounts == USED


def test_images_and_cloud_metadata_need_permission_or_an_exemption() -> None:
    for path in _ending("image", *_METADATA):
        assert _is_covered(path, GATED | NOT_ASKED.keys()), path


def test_every_exempt_field_exists_and_is_not_in_the_tables() -> None:
    assert NOT_ASKED.keys() <= PATHS
    assert not any(_is_covered(path, GATED) for path in NOT_ASKED)


class TestRestores:
    # The image of the new servers, as of every cluster, and a container that is never created.
    NOT_ASKED: ClassVar = {"spec.clusterTemplate.image", "spec.clusterTemplate.initContainer.image"}

    def test_every_field_of_the_tables_is_one_of_the_api(self) -> None:
        named = {reference.field for reference in RESTORE_REFERENCES}
        assert RESTORE_GATED | RESTORE_USED | named <= RESTORE_PATHS

    def test_every_secret_reference_needs_permission(self) -> None:
        assert {reference.field for reference in RESTORE_REFERENCES} == {
            f"spec.{path}" for path in references(RestoreSpec)
        }

    def test_a_restore_cannot_reference_more_secrets_than_the_policy_checks(self) -> None:
        (pulled,) = (path for path in RESTORE_PATHS if path.endswith("imagePullSecrets"))
        nodes: dict[str, Schema] = {}
        walk(restore.open_api_schema(), lambda path, node: nodes.update({path: node}))
        assert len(RESTORE_REFERENCES) - 1 + nodes[pulled]["maxItems"] == RESTORE_AT_MOST

    def test_every_other_object_reference_needs_permission(self) -> None:
        accounts = {path for path in RESTORE_PATHS if path.endswith("serviceAccount.name")}
        assert _ending(*_OBJECTS, paths=RESTORE_PATHS) | accounts == RESTORE_USED

    def test_images_and_cloud_metadata_need_permission(self) -> None:
        for path in _ending("image", *_METADATA, paths=RESTORE_PATHS):
            assert _is_covered(path, RESTORE_GATED | self.NOT_ASKED), path

    def test_the_policy_fits_its_cost_budget(self) -> None:
        checks = sum(
            text.count(".check(")
            for text in (
                *(validation.expression for validation in VALIDATE_RESTORE.validations),
                *(variable.expression for variable in VALIDATE_RESTORE.variables),
            )
        )
        assert checks * CHECK < BUDGET


def test_the_policy_fits_its_cost_budget() -> None:
    secrets = [validation.expression for validation in SECRET_VALIDATIONS]
    for expression in (*secrets, *(use.expression() for use in USES)):
        assert expression.count(".check(") * CHECK < EXPRESSION
    assert (2 * AT_MOST + 2 + 2) * CHECK < BUDGET
    assert (sum(len(verb.names()) for verb in VERBS) + len(USES)) * CHECK < BUDGET


class TestPeople:
    def test_a_restore_needs_its_own_verb(self) -> None:
        (role,) = (role for role in DELEGATED if role.name == RESTORE.role)
        assert [rule["verbs"] for rule in _rules([role])] == [[RESTORE.name]]
        assert role.joins == ()

    def test_the_usual_roles_have_no_delegated_verb(self) -> None:
        held = {verb for rule in _rules(USUAL) for verb in rule["verbs"]}
        assert held == {
            "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection",
        }  # fmt: skip

    def test_each_verb_has_one_role_that_is_not_aggregated(self) -> None:
        for verb in VERBS:
            holders = [role for role in DELEGATED if role.name == verb.role]
            assert [rule["verbs"] for rule in _rules(holders)] == [[verb.name]]
        assert all(role.joins == () for role in DELEGATED)

    def test_no_role_writes_a_status(self) -> None:
        for rule in _rules((*USUAL, *DELEGATED, *PLATFORM)):
            if any(name.endswith("/status") for name in rule["resources"]):
                assert rule["verbs"] == ["get"]

    def test_only_admins_have_access_to_tenants(self) -> None:
        for role in USUAL:
            touched = {name for rule in _rules([role]) for name in rule["resources"]}
            assert (TENANTS.plural in touched) == (role.joins == ("admin",))

    def test_only_platform_roles_have_access_to_datacenters(self) -> None:
        kinds = {"bootstrapservicesets", "bootstrapworkloads", "datacenters"}
        for rule in _rules((*USUAL, *DELEGATED)):
            assert not kinds & {name.partition("/")[0] for name in rule["resources"]}
        assert [(role.name, role.joins) for role in PLATFORM] == [
            ("datacenter-view", ()),
            ("datacenter-admin", ()),
            ("use-node-access", ()),
            ("use-object-kinds", ()),
        ]
        written = {
            name
            for rule in _rules(PLATFORM)
            if "patch" in rule["verbs"]
            for name in rule["resources"]
        }
        assert written == {"bootstrapservicesets", "datacenters"}

    def test_the_datacenter_admin_role_has_no_delegated_verb(self) -> None:
        gated = {gate.verb.name for gate in DATACENTER_GATES}
        holders = [
            (role.name, rule["resources"])
            for role in PLATFORM
            for rule in _rules([role])
            if gated & set(rule["verbs"])
        ]
        assert holders == [
            ("use-node-access", ["datacenters"]),
            ("use-object-kinds", ["datacenters"]),
        ]

    def test_no_rule_has_a_wildcard(self) -> None:
        for rule in _rules((*USUAL, *DELEGATED, *PLATFORM)):
            assert "*" not in (*rule["verbs"], *rule["resources"], *rule["apiGroups"])

    def test_each_usual_role_is_aggregated_to_the_role_of_its_name(self) -> None:
        view, edit, admin = (role.to_object()["metadata"] for role in USUAL)
        to = "rbac.authorization.k8s.io/aggregate-to-"
        assert {f"{to}view", f"{to}edit", f"{to}admin"} <= view["labels"].keys()
        assert f"{to}view" not in edit["labels"]
        assert edit["labels"][f"{to}edit"] == "true"
        assert [key for key in admin["labels"] if key.startswith(to)] == [f"{to}admin"]
        assert view["name"] == "openbao-operator-view"

    def test_former_roles_grant_no_more_than_the_current_ones(self) -> None:
        names = [role.to_object()["metadata"]["name"] for role in FORMER]
        assert names == [
            "openbaocluster-admin-role",
            "openbaocluster-editor-role",
            "openbaocluster-viewer-role",
            "openbaotenant-editor-role",
        ]
        usual = {
            (resource, verb)
            for rule in _rules(USUAL)
            for resource in rule["resources"]
            for verb in rule["verbs"]
        }
        for rule in _rules(FORMER):
            for resource in rule["resources"]:
                assert {(resource, verb) for verb in rule["verbs"]} <= usual

    def test_the_verbs_are_on_clusters(self) -> None:
        for verb in VERBS:
            (role,) = (role for role in DELEGATED if role.name == verb.role)
            (rule,) = _rules([role])
            assert (rule["apiGroups"], rule["resources"]) == ([GROUP], [CLUSTERS.plural])


def _rules(roles: Any) -> Iterator[dict[str, Any]]:
    for role in roles:
        yield from role.to_object()["rules"]
