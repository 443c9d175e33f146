"""managers.identity.account: the ServiceAccount of the servers, and its owner."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from contracts.naming import labels
from managers.cluster.observe.from_objects import account_facts
from managers.cluster.resolve.resolve import resolve
from managers.identity.account import account_name, service_account_ready
from managers.identity.plan import plan
from runtime.builtin_kinds import ROLE, ROLE_BINDING, SERVICE_ACCOUNT
from runtime.outcome import Blocked
from tests import gen

NAMED = gen.cluster(serviceAccount={"name": "mine", "annotations": {"iam": "arn"}}).self_init()
ROLES = {ROLE, ROLE_BINDING}
ALL = {SERVICE_ACCOUNT, *ROLES}


def kinds(cluster: gen.Cluster, world: gen.World) -> set[Any]:
    intents = plan(gen.resolved(cluster, world), world.facts()).intents
    return {intent.resource for intent in intents}


def spared_objects(cluster: gen.Cluster, world: gen.World) -> list[tuple[str, str]]:
    intents = plan(gen.resolved(cluster, world), world.facts()).retained
    return [(resource.kind, key.name) for resource, key in intents]


# sentence: (the existing account of the name, planned kinds)
REUSE: dict[str, tuple[gen.World, set[Any]]] = {
    "no account: all three objects are created": (gen.world(), ALL),
    "an account of a user is only bound": (gen.world().with_account("mine"), ROLES),
    "an account of the operator is kept up to date": (
        gen.world().with_account("mine", free=False),
        ALL,
    ),
}


@pytest.mark.parametrize(("world", "expected"), REUSE.values(), ids=REUSE.keys())
def test_objects_for_an_account_in_the_spec(world: gen.World, expected: set[Any]) -> None:
    assert kinds(NAMED, world) == expected


def test_the_pods_run_under_an_account_that_is_reused() -> None:
    world = gen.world().with_account("mine")
    assert gen.resolved(NAMED, world).service_account == "mine"


def metadata(**more: Any) -> dict[str, Any]:
    return {"metadata": {"name": "mine", "namespace": gen.NAMESPACE, **more}}


CONTROLLER = {"apiVersion": "v1", "kind": "Other", "name": "o", "uid": "u", "controller": True}
GUEST = {**CONTROLLER, "controller": False}
# sentence: (metadata of the account, whether a user created it)
FREE: dict[str, tuple[dict[str, Any], bool]] = {
    "plain": ({}, True),
    "annotated for a cloud": ({"annotations": {"iam": "arn"}}, True),
    "owned, and not controlled": ({"ownerReferences": [GUEST]}, True),
    "controlled by something": ({"ownerReferences": [CONTROLLER]}, False),
    "created for another cluster": ({"annotations": {labels.OWNER_UID: "other"}}, False),
    "handed over to us": ({"annotations": {labels.ADOPT: "x"}}, False),
}


@pytest.mark.parametrize(("more", "free"), FREE.values(), ids=FREE.keys())
def test_ownership_of_an_account(more: dict[str, Any], free: bool) -> None:
    assert account_facts(metadata(**more)).free is free


@pytest.mark.parametrize(
    ("name", "own_name"), [(None, None), ("x-serviceaccount", None), ("mine", "mine")]
)
def test_only_an_account_in_the_spec_is_read(name: str | None, own_name: str | None) -> None:
    wish: dict[str, Any] = {"serviceAccount": {"name": name}} if name else {}
    assert account_name(gen.cluster(**wish).read()) == own_name


# sentence: (annotations of the account, status, reason)
ANNOTATIONS: dict[str, tuple[Mapping[str, str], str, str]] = {
    "annotations present": ({"iam": "arn", "more": "x"}, "True", "ServiceAccountReused"),
    "annotations missing": ({}, "False", "ServiceAccountAnnotationsMissing"),
    "annotations differ": ({"iam": "other"}, "False", "ServiceAccountAnnotationsMissing"),
}


@pytest.mark.parametrize(
    ("there", "status", "reason"), ANNOTATIONS.values(), ids=ANNOTATIONS.keys()
)
def test_missing_annotations_are_reported(
    there: Mapping[str, str], status: str, reason: str
) -> None:
    world = gen.world().with_account("mine", annotations=there)
    update = service_account_ready(NAMED.read().spec, world.facts())
    assert update is not None
    assert (update.status, update.reason) == (status, reason)
    assert "mine" in update.message
    assert ("iam" in update.message) is (status == "False")


@pytest.mark.parametrize(
    "world", [gen.world(), gen.world().with_account("mine", free=False)], ids=["absent", "ours"]
)
def test_our_own_account_has_no_condition(world: gen.World) -> None:
    assert service_account_ready(NAMED.read().spec, world.facts()) is None


# --- a new name ---------------------------------------------------------------------------------

OLD = "x-serviceaccount"
OLD_THREE = [
    ("ServiceAccount", OLD),
    ("Role", f"{OLD}-role"),
    ("RoleBinding", f"{OLD}-rolebinding"),
]
# sentence: (pods and StatefulSet, the kept objects)
RENAMED: dict[str, tuple[gen.World, list[tuple[str, str]]]] = {
    "a pod still runs under the old name": (
        gen.world().with_pods(gen.pod(0).under("mine"), gen.pod(1).under(OLD)),
        OLD_THREE,
    ),
    "a pod under the old name terminates": (
        gen.world().with_pods(gen.pod(1).under(OLD).terminating()),
        OLD_THREE,
    ),
    "a pod may still start under the old name": (
        gen.world().with_set(gen.stateful_set().under(OLD)).with_pods(gen.pod(0).under("mine")),
        OLD_THREE,
    ),
    "no pod under the old name": (
        gen.world().with_set(gen.stateful_set().under("mine")).with_pods(gen.pod(0).under("mine")),
        [],
    ),
    "pods with an unknown account": (gen.world().with_pods(gen.pod(0)), []),
    "a name that no spec can have": (
        gen.world().with_pods(gen.pod(0).under("a" * 250)),
        [],
    ),
}


@pytest.mark.parametrize(("world", "expected"), RENAMED.values(), ids=RENAMED.keys())
def test_a_former_account_is_kept_while_a_pod_uses_it(
    world: gen.World, expected: list[tuple[str, str]]
) -> None:
    assert spared_objects(NAMED, world) == expected


def test_read_replicas_count_as_well() -> None:
    facts = gen.world().facts()
    read = replace(facts.read, pods=(gen.pod(0).under(OLD).facts(),))
    identity_plan = plan(gen.resolved(NAMED), replace(facts, read=read))
    assert [key.name for _, key in identity_plan.retained] == [name for _, name in OLD_THREE]


def test_attack_t06_a_pod_of_a_user_gives_its_account_no_rights() -> None:
    """A user who may create pods could name any account in a pod that looks like a server."""
    world = gen.world().with_pods(gen.pod(7).under("victim"))
    identity_plan = plan(gen.resolved(gen.cluster(), world), world.facts())
    assert not any("victim" in str(intent.body) for intent in identity_plan.intents)


# --- powerful accounts --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("account", "namespace", "refused"),
    [
        ("openbao-operator", "operators", True),
        ("openbao-operator", gen.NAMESPACE, False),
        ("mine", "operators", False),
    ],
)
def test_attack_t06_the_operators_own_account_is_refused(
    account: str, namespace: str, refused: bool
) -> None:
    cluster = gen.cluster(serviceAccount={"name": account}).with_metadata(namespace=namespace)
    here = replace(gen.INSTALLATION, namespace="operators", service_account="openbao-operator")
    answer = resolve(cluster.read(), cluster.owner(), gen.world().facts(), here)
    assert isinstance(answer, Blocked) is refused
    if isinstance(answer, Blocked):
        assert answer.reason == "InvalidSpec"
        assert "spec.serviceAccount.name: openbao-operator" in answer.message


@pytest.mark.parametrize(
    "name", ["default", "x-backup-serviceaccount", "other-restore-serviceaccount"]
)
def test_attack_t06_reserved_accounts_are_refused(name: str) -> None:
    cluster = gen.cluster(serviceAccount={"name": name})
    answer = resolve(cluster.read(), cluster.owner(), gen.world().facts(), gen.INSTALLATION)
    assert isinstance(answer, Blocked)
    assert "spec.serviceAccount.name" in answer.message


# --- accounts of jobs ---------------------------------------------------------------------------

TARGET: dict[str, Any] = {"endpoint": "https://s3.example.com", "bucket": "b"}
BACKUP: dict[str, Any] = {"schedule": "0 3 * * *", "jwtAuthRole": "mine", "target": TARGET}
BACKUP_ACCOUNT, RESTORE_ACCOUNT = "x-backup-serviceaccount", "x-restore-serviceaccount"
UPGRADE_ACCOUNT = "x-upgrade-serviceaccount"


# Its first boot created no role for jobs.
ALONE = gen.cluster().self_init()


def cluster_with_lock(operation: str) -> gen.Cluster:
    return ALONE.with_status(operationLock={"operation": operation, "holder": "h", "epoch": 1})


# sentence: (cluster, accounts except that of the servers)
JOB_ACCOUNTS: dict[str, tuple[gen.Cluster, list[str]]] = {
    "no jobs": (ALONE, []),
    "backups": (
        ALONE.with_spec(backup=BACKUP),
        [BACKUP_ACCOUNT, RESTORE_ACCOUNT],
    ),
    "restores only": (ALONE.with_spec(restore={"jwtAuthRole": "mine"}), [RESTORE_ACCOUNT]),
    "one restore that runs": (cluster_with_lock("Restore"), [RESTORE_ACCOUNT]),
    "a running backup after spec.backup was removed": (
        cluster_with_lock("Backup"),
        [BACKUP_ACCOUNT],
    ),
    "an upgrade that runs": (cluster_with_lock("Upgrade"), [UPGRADE_ACCOUNT]),
    "upgrades with a role of their own": (
        ALONE.with_spec(upgrade={"jwtAuthRole": "mine"}),
        [UPGRADE_ACCOUNT],
    ),
    "a first boot with the roles of jobs": (
        gen.cluster().self_init(login=True),
        [UPGRADE_ACCOUNT],
    ),
    "roles of jobs created after the first boot": (
        gen.cluster(),
        [UPGRADE_ACCOUNT],
    ),
}


@pytest.mark.parametrize(("cluster", "expected"), JOB_ACCOUNTS.values(), ids=JOB_ACCOUNTS.keys())
def test_which_accounts_jobs_have(cluster: gen.Cluster, expected: list[str]) -> None:
    intents = plan(gen.resolved(cluster), gen.world().facts()).intents
    accounts = [intent for intent in intents if intent.resource == SERVICE_ACCOUNT]
    assert [account.key.name for account in accounts] == ["x-serviceaccount", *expected]
    assert all(account.body["automountServiceAccountToken"] is False for account in accounts)
    # The rights of a job exist only during its run.
    assert [intent.key.name for intent in intents if intent.resource == ROLE] == [
        "x-serviceaccount-role"
    ]


def test_job_accounts_have_the_cloud_annotations() -> None:
    identity = {"serviceAccountAnnotations": {"iam": "arn"}}
    target = {**TARGET, "workloadIdentity": identity}
    cluster = gen.cluster(backup={**BACKUP, "target": target}, upgrade={"jwtAuthRole": "its-own"})
    intents = plan(gen.resolved(cluster), gen.world().facts()).intents
    annotations = {
        intent.key.name: intent.body["metadata"].get("annotations", {})
        for intent in intents
        if intent.resource == SERVICE_ACCOUNT
    }
    assert annotations[BACKUP_ACCOUNT] == annotations[RESTORE_ACCOUNT] == {"iam": "arn"}
    assert annotations["x-serviceaccount"] == annotations[UPGRADE_ACCOUNT] == {}
