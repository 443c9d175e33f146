"""The policies for backups and restores on a real API server: who may create, acknowledge and
report."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from contracts.admission.policy import PREFIX
from contracts.admission.verb_gated_fields import RESTORE
from contracts.api.group import BACKUPS, CLUSTERS, RESTORES
from contracts.naming import labels
from contracts.naming.installation import CONTROLLER, NAMESPACE
from contracts.naming.names import job_service_account
from e2e.rig import Rig
from runtime.client.client import Client
from runtime.errors import Forbidden
from runtime.types import Object, Resource, key_of, uid_of
from tests.contracts.api.run_objects import KEY, MOMENT, STORE, backup_object, into, restore_object
from tests.integration.accounts import Account, make
from tests.integration.admission.people import EDIT, MANAGER, PLACE, WRITER, People, body, client_as

ALL_STATUS = "itest-run-status"
RESTORER, EXECUTOR = "restorer", job_service_account("c", "backup")
Accounts = dict[str, Account]
OWN_TEMPLATE = {"unseal": {"type": "transit"}}


@pytest.fixture(scope="module")
def accounts(
    control_plane_with_crds: Rig, people: People, tmp_path_factory: pytest.TempPathFactory
) -> Accounts:
    """Users who may write runs or restore, and Jobs with more permissions than they ever have."""
    folder = tmp_path_factory.mktemp("runs")
    role = (ALL_STATUS, "--verb=get,patch")
    resources = ",".join(
        f"{resource.plural}.{resource.group}/status" for resource in (BACKUPS, RESTORES)
    )
    control_plane_with_crds.kubectl("create", "clusterrole", *role, f"--resource={resources}")
    operator = f"--serviceaccount={NAMESPACE}:{CONTROLLER}"
    bound = (ALL_STATUS, f"--clusterrole={ALL_STATUS}", operator)
    control_plane_with_crds.kubectl("create", "clusterrolebinding", *bound)
    verb = f"{PREFIX}{RESTORE.role}"
    accounts_by_name = {
        RESTORER: make(control_plane_with_crds, PLACE, RESTORER, folder, [EDIT, verb]),
        **{
            name: make(control_plane_with_crds, PLACE, name, folder, [ALL_STATUS])
            for name in (
                EXECUTOR,
                job_service_account("c", "restore"),
                job_service_account("other", "backup"),
            )
        },
    }
    for gate in ("use-secrets", "use-volume-claims", "use-cloud-identities"):
        accounts_by_name[gate] = make(
            control_plane_with_crds, PLACE, gate, folder, [EDIT, verb, f"{PREFIX}{gate}"]
        )
    secrets = [f"{PREFIX}use-secrets", f"{PREFIX}use-cloud-identities"]
    accounts_by_name["both"] = make(
        control_plane_with_crds, PLACE, "both", folder, [EDIT, verb, *secrets]
    )
    accounts_by_name["use-custom-executables"] = make(
        control_plane_with_crds,
        PLACE,
        "runs-programs",
        folder,
        [EDIT, verb, f"{PREFIX}use-custom-executables"],
    )
    return accounts_by_name


async def _apply(
    client: Client, kind: Resource, body: Object, *, dry_run: bool = True, **more: Any
) -> Object:
    body["metadata"]["namespace"] = PLACE
    response = await client.apply(
        kind, body, field_manager=MANAGER, force=True, dry_run=dry_run, **more
    )
    return response.object


class TestBackups:
    async def test_users_may_only_create_manual_backups(self, people: People) -> None:
        async with client_as(people[WRITER]) as writer:
            await _apply(writer, BACKUPS, backup_object("now"))
            for more in (
                {"origin": "Scheduled", "scheduledTime": MOMENT},
                {"origin": "PreUpgrade"},
            ):
                with pytest.raises(Forbidden, match=r"spec\.origin: must be Manual"):
                    await _apply(writer, BACKUPS, backup_object("now", **more))

    async def test_names_of_scheduled_backups_are_reserved_for_the_operator(
        self, people: People
    ) -> None:
        async with client_as(people[WRITER]) as writer:
            with pytest.raises(Forbidden, match=r"metadata\.name: must not be"):
                await _apply(writer, BACKUPS, backup_object("c-20260101-030000"))
            await _apply(writer, BACKUPS, backup_object("d-20260101-030000"))
            await _apply(writer, BACKUPS, backup_object("c-20260101-030000-again"))

    async def test_the_operator_creates_scheduled_backups(self, people: People) -> None:
        more = {"origin": "Scheduled", "scheduledTime": MOMENT}
        async with client_as(people[CONTROLLER]) as operator:
            await _apply(operator, BACKUPS, backup_object("c-20260101-030000", **more))


@dataclass(frozen=True)
class PermissionCase:
    """A restore that needs more than the verb: the refused field, and the sufficient role."""

    field: str
    spec: dict[str, Any]
    role: str


LOGIN = {"credentialsSecretRef": {"name": "store"}}


def _restore(name: str = "r", **spec: Any) -> Object:
    """A restore of a backup by name, without a store unless `spec` has one."""
    return restore_object(name, **{"source": {"backup": "nightly"}, **spec})


def _from(**target: Any) -> dict[str, Any]:
    return {"source": {"target": {**STORE, **target}, "key": KEY}}


NEEDS = {
    "the identity of the pod": PermissionCase(
        "spec.source.target", _from(), "use-cloud-identities"
    ),
    "a program": PermissionCase(
        "spec.image", {"image": "a.example.com/b:1"}, "use-custom-executables"
    ),
    "a role of a cloud": PermissionCase(
        "spec.source.target.roleArn", _from(roleArn="arn:aws:iam::1:role/x", **LOGIN), "both"
    ),
    "an identity of a cloud": PermissionCase(
        "spec.source.target.workloadIdentity.podLabels",
        _from(workloadIdentity={"podLabels": {"a": "b"}}, **LOGIN),
        "both",
    ),
    "a volume": PermissionCase(
        "spec.source.target.pvc.claimName",
        {
            "source": {
                "target": {"provider": "pvc", "bucket": "b", "pvc": {"claimName": "v"}},
                "key": KEY,
            }
        },
        "use-volume-claims",
    ),
    "credentials": PermissionCase(
        "spec.source.target.credentialsSecretRef.name", _from(**LOGIN), "use-secrets"
    ),
    "a token": PermissionCase(
        "spec.tokenSecretRef.name", {"tokenSecretRef": {"name": "token"}}, "use-secrets"
    ),
    "keys of a fresh cluster": PermissionCase(
        "spec.clusterTemplate.unseal.credentialsSecretRef.name",
        into(unseal={"credentialsSecretRef": {"name": "key"}}),
        "use-secrets",
    ),
    "a plugin of a fresh cluster": PermissionCase(
        "spec.clusterTemplate.plugins",
        into(plugins=[{"type": "kms", "name": "x"}]),
        "use-custom-executables",
    ),
}


class TestRestores:
    async def test_attack_t15_writing_a_restore_is_not_enough(self, people: People) -> None:
        async with client_as(people[WRITER]) as writer:
            with pytest.raises(Forbidden, match=r"spec\.cluster: needs the verb restore on that"):
                await _apply(writer, RESTORES, _restore())

    async def test_a_user_with_the_verb_may_restore(self, accounts: Accounts) -> None:
        async with client_as(accounts[RESTORER]) as client:
            await _apply(client, RESTORES, _restore())
            await _apply(client, RESTORES, _restore(**into(**OWN_TEMPLATE)))

    @pytest.mark.parametrize("asked", NEEDS.values(), ids=NEEDS.keys())
    async def test_references_need_their_own_permission(
        self, accounts: Accounts, asked: PermissionCase
    ) -> None:
        async with client_as(accounts[RESTORER]) as client:
            with pytest.raises(Forbidden) as caught:
                await _apply(client, RESTORES, _restore(**asked.spec))
        assert f"{asked.field}: needs the verb" in str(caught.value)
        async with client_as(accounts[asked.role]) as client:
            await _apply(client, RESTORES, _restore(**asked.spec))

    async def test_a_fresh_cluster_needs_permission_to_create_clusters(
        self, control_plane_with_crds: Rig, accounts: Accounts, tmp_path: Any
    ) -> None:
        name = "only-restores"
        role = (name, "--verb=get,create,patch", f"--resource={RESTORES.plural}.{RESTORES.group}")
        control_plane_with_crds.kubectl("create", "clusterrole", *role)
        one = make(
            control_plane_with_crds, PLACE, name, tmp_path, [name, f"{PREFIX}{RESTORE.role}"]
        )
        async with client_as(one) as client:
            await _apply(client, RESTORES, _restore())
            with pytest.raises(Forbidden, match=r"clusterTemplate: needs the verb create"):
                await _apply(client, RESTORES, _restore(**into(**OWN_TEMPLATE)))

    async def test_an_acknowledgement_needs_the_verb_and_a_label_does_not(
        self, people: People, accounts: Accounts
    ) -> None:
        async with client_as(accounts[RESTORER]) as client:
            await _apply(client, RESTORES, _restore("decided"), dry_run=False)
            noted = _restore("decided")
            noted["metadata"]["annotations"] = {labels.RESTORE_ACKNOWLEDGE: "id/Resume"}
            await _apply(client, RESTORES, noted)
        async with client_as(people[WRITER]) as writer:
            with pytest.raises(Forbidden, match="needs the verb restore"):
                await _apply(writer, RESTORES, noted)
            labeled = _restore("decided")
            labeled["metadata"]["labels"] = {"a": "b"}
            await _apply(writer, RESTORES, labeled)


def _report(**more: Any) -> dict[str, Any]:
    return {"jobUID": "1", "outcome": "Succeeded", **more}


def _claim(**more: Any) -> dict[str, Any]:
    return {"podUID": "1", "digest": f"sha256:{'0' * 64}", "size": 1, **more}


@asynccontextmanager
async def _ran(kind: Resource, name: str, people: People) -> AsyncIterator[Object]:
    """Create a run in phase Running; yields the body for writes of its status."""
    run = {BACKUPS: backup_object, RESTORES: restore_object}[kind](name)
    async with client_as(people[CONTROLLER]) as operator:
        await _apply(operator, kind, run, dry_run=False)
        body = {key: run[key] for key in ("apiVersion", "kind", "metadata")}
        begun = {**body, "status": {"phase": "Running", "message": "runs"}}
        await _apply(operator, kind, begun, dry_run=False, subresource="status")
    yield body


async def _say(client: Client, kind: Resource, body: Object, **status: Any) -> None:
    obj = {**body, "status": status}
    await client.apply(
        kind, obj, field_manager="openbao-executor", force=True, subresource="status"
    )


@pytest.mark.usefixtures("accounts")
class TestStatus:
    async def test_a_job_reports_once(self, people: People, accounts: Accounts) -> None:
        async with _ran(BACKUPS, "reports", people) as run, client_as(accounts[EXECUTOR]) as job:
            await _say(job, BACKUPS, run, report=_report())
            # A repeated request with the same content is accepted.
            await _say(job, BACKUPS, run, report=_report())
            with pytest.raises(Forbidden, match="written once"):
                await _say(job, BACKUPS, run, report=_report(outcome="Failed"))
            with pytest.raises(Forbidden, match=r"nothing else|written once"):
                await _say(job, BACKUPS, run)

    async def test_a_job_may_only_write_its_report(
        self, people: People, accounts: Accounts
    ) -> None:
        async with _ran(BACKUPS, "lies", people) as run, client_as(accounts[EXECUTOR]) as job:
            for lie in ({"phase": "Completed"}, {"key": "other"}, {"jobUID": "2"}):
                with pytest.raises(Forbidden, match="and nothing else"):
                    await _say(job, BACKUPS, run, **lie)

    @pytest.mark.parametrize("name", [job_service_account("other", "backup"), "people"])
    async def test_no_other_account_may_report(
        self, people: People, accounts: Accounts, client: Client, name: str
    ) -> None:
        """Neither Jobs of another cluster nor a user may, whatever their permissions."""
        async with _ran(BACKUPS, "others", people) as run:
            if name == "people":
                with pytest.raises(Forbidden, match="only the operator and the Job"):
                    await _say(client, BACKUPS, run, report=_report())
                return
            async with client_as(accounts[name]) as other:
                with pytest.raises(Forbidden, match="only the operator and the Job"):
                    await _say(other, BACKUPS, run, report=_report())

    async def test_a_submission_claim_is_written_once(
        self, people: People, accounts: Accounts
    ) -> None:
        restorer = job_service_account("c", "restore")
        async with _ran(RESTORES, "claims", people) as run, client_as(accounts[restorer]) as job:
            await _say(job, RESTORES, run, submissionClaim=_claim())
            with pytest.raises(Forbidden, match="written once"):
                await _say(job, RESTORES, run, submissionClaim=_claim(podUID="2"))
            with pytest.raises(Forbidden, match=r"written once|nothing else"):
                await _say(job, RESTORES, run, report=_report())
            await _say(job, RESTORES, run, submissionClaim=_claim(), report=_report())
            async with client_as(people[CONTROLLER]) as operator:
                begun = {**run, "status": {"phase": "Completed", "message": "done"}}
                await _apply(operator, RESTORES, begun, dry_run=False, subresource="status")

    async def test_the_backup_account_may_not_write_restores(
        self, people: People, accounts: Accounts
    ) -> None:
        async with _ran(RESTORES, "mixed", people) as run, client_as(accounts[EXECUTOR]) as job:
            with pytest.raises(Forbidden, match="only the operator and the Job"):
                await _say(job, RESTORES, run, submissionClaim=_claim())


class TestTheOperator:
    async def test_it_creates_and_deletes_only_clusters_of_restores(
        self, people: People, client: Client
    ) -> None:
        plain, fresh = body("plain", {}), body("fresh", {})
        fresh["metadata"]["annotations"] = {labels.RESTORE_ORIGIN: "uid"}
        async with client_as(people[CONTROLLER]) as operator:
            obj = await _apply(operator, CLUSTERS, fresh, dry_run=False)
            await operator.delete(CLUSTERS, key_of(obj), uid=uid_of(obj))
            with pytest.raises(Forbidden, match="only clusters of restores"):
                await _apply(operator, CLUSTERS, plain)
            obj = await _apply(client, CLUSTERS, plain, dry_run=False)
            with pytest.raises(Forbidden, match="only clusters of restores"):
                await operator.delete(CLUSTERS, key_of(obj), uid=uid_of(obj))

    async def test_it_deletes_only_backups_that_it_created(self, people: People) -> None:
        own, foreign = backup_object("c-20260101-040000"), backup_object("kept")
        own["metadata"]["labels"] = labels.base("c")
        async with client_as(people[CONTROLLER]) as operator, client_as(people[WRITER]) as writer:
            obj = await _apply(operator, BACKUPS, own, dry_run=False)
            await operator.delete(BACKUPS, key_of(obj), uid=uid_of(obj))
            obj = await _apply(writer, BACKUPS, foreign, dry_run=False)
            with pytest.raises(Forbidden, match="only OpenBaoBackups that it created"):
                await operator.delete(BACKUPS, key_of(obj), uid=uid_of(obj))
