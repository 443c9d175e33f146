"""The tables of what a spec brings: all fields are of the API, and none of its kind is left out.

What is deliberately not asked about stands here, with the reason.
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
    # The servers' own program. It has the identity that the writer of the cluster chose for it
    # anyway, and who must have signed it is said by imageVerification.
    "spec.image": "image",
    f"{TEMPLATE}.image": "image",
    # No such container is ever made.
    "spec.initContainer.image": "image",
    f"{TEMPLATE}.initContainer.image": "image",
    # Words for Prometheus; they open nothing.
    "spec.observability.metrics.serviceMonitor.annotations": "annotations",
}
# A question to the authorizer, and what one expression and one policy may spend on a request.
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


def test_every_secret_that_a_spec_names_is_asked_about() -> None:
    assert {reference.field for reference in REFERENCES} == {
        f"spec.{path}" for path in SECRETS_OF_THE_MODELS
    }


def test_every_other_object_that_a_spec_names_is_asked_about() -> None:
    names = _ending(*_OBJECTS)
    accounts = {path for path in PATHS if path.endswith("serviceAccount.name")}
    assert names | accounts == USED


def test_every_image_and_all_metadata_of_clouds_are_asked_about_or_have_a_reason() -> None:
    for path in _ending("image", *_METADATA):
        assert _is_covered(path, GATED | NOT_ASKED.keys()), path


def test_what_is_not_asked_about_is_still_there() -> None:
    assert NOT_ASKED.keys() <= PATHS
    assert not any(_is_covered(path, GATED) for path in NOT_ASKED)


class TestRestores:
    # The fresh server's own program, as of every cluster; and a container that is never made.
    NOT_ASKED: ClassVar = {"spec.clusterTemplate.image", "spec.clusterTemplate.initContainer.image"}

    def test_every_field_of_the_tables_is_one_of_the_api(self) -> None:
        named = {reference.field for reference in RESTORE_REFERENCES}
        assert RESTORE_GATED | RESTORE_USED | named <= RESTORE_PATHS

    def test_every_secret_is_asked_about(self) -> None:
        assert {reference.field for reference in RESTORE_REFERENCES} == {
            f"spec.{path}" for path in references(RestoreSpec)
        }

    def test_no_restore_names_more_secrets_than_are_asked_about(self) -> None:
        (pulled,) = (path for path in RESTORE_PATHS if path.endswith("imagePullSecrets"))
        nodes: dict[str, Schema] = {}
        walk(restore.open_api_schema(), lambda path, node: nodes.update({path: node}))
        assert len(RESTORE_REFERENCES) - 1 + nodes[pulled]["maxItems"] == RESTORE_AT_MOST

    def test_every_other_object_is_asked_about(self) -> None:
        accounts = {path for path in RESTORE_PATHS if path.endswith("serviceAccount.name")}
        assert _ending(*_OBJECTS, paths=RESTORE_PATHS) | accounts == RESTORE_USED

    def test_every_image_and_all_metadata_of_clouds_are_asked_about(self) -> None:
        for path in _ending("image", *_METADATA, paths=RESTORE_PATHS):
            assert _is_covered(path, RESTORE_GATED | self.NOT_ASKED), path

    def test_the_policy_can_pay_for_its_questions(self) -> None:
        checks = sum(
            text.count(".check(")
            for text in (
                *(validation.expression for validation in VALIDATE_RESTORE.validations),
                *(variable.expression for variable in VALIDATE_RESTORE.variables),
            )
        )
        assert checks * CHECK < BUDGET


def test_a_policy_can_pay_for_its_questions() -> None:
    secrets = [validation.expression for validation in SECRET_VALIDATIONS]
    for expression in (*secrets, *(use.expression() for use in USES)):
        assert expression.count(".check(") * CHECK < EXPRESSION
    assert (2 * AT_MOST + 2 + 2) * CHECK < BUDGET
    assert (sum(len(verb.names()) for verb in VERBS) + len(USES)) * CHECK < BUDGET


class TestPeople:
    def test_a_restore_takes_more_than_writing_one(self) -> None:
        (role,) = (role for role in DELEGATED if role.name == RESTORE.role)
        assert [rule["verbs"] for rule in _rules([role])] == [[RESTORE.name]]
        assert role.joins == ()

    def test_the_usual_roles_hold_no_delegated_verb(self) -> None:
        held = {verb for rule in _rules(USUAL) for verb in rule["verbs"]}
        assert held == {
            "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection",
        }  # fmt: skip

    def test_each_verb_has_one_role_that_joins_none(self) -> None:
        for verb in VERBS:
            holders = [role for role in DELEGATED if role.name == verb.role]
            assert [rule["verbs"] for rule in _rules(holders)] == [[verb.name]]
        assert all(role.joins == () for role in DELEGATED)

    def test_nobody_writes_a_status(self) -> None:
        for rule in _rules((*USUAL, *DELEGATED, *PLATFORM)):
            if any(name.endswith("/status") for name in rule["resources"]):
                assert rule["verbs"] == ["get"]

    def test_tenants_are_for_admins_only(self) -> None:
        for role in USUAL:
            touched = {name for rule in _rules([role]) for name in rule["resources"]}
            assert (TENANTS.plural in touched) == (role.joins == ("admin",))

    def test_datacenters_are_for_those_who_run_the_platform(self) -> None:
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

    def test_who_writes_datacenters_holds_no_verb_of_them(self) -> None:
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

    def test_view_edit_and_admin_are_joined_as_they_are_called(self) -> None:
        view, edit, admin = (role.to_object()["metadata"] for role in USUAL)
        to = "rbac.authorization.k8s.io/aggregate-to-"
        assert {f"{to}view", f"{to}edit", f"{to}admin"} <= view["labels"].keys()
        assert f"{to}view" not in edit["labels"]
        assert edit["labels"][f"{to}edit"] == "true"
        assert [key for key in admin["labels"] if key.startswith(to)] == [f"{to}admin"]
        assert view["name"] == "openbao-operator-view"

    def test_older_names_grant_no_more_than_the_usual_ones(self) -> None:
        names = [role.to_object()["metadata"]["name"] for role in FORMER]
        assert names == [f"openbaocluster-{role}-role" for role in ("admin", "editor", "viewer")]
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
