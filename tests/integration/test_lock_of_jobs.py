"""The policies for Jobs of backups and restores on a real API server, independent of RBAC.

The Jobs are built by the operator's own code, so a Job that the policies refuse is found here.
"""

import copy
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from contracts.admission.operator_pods import LOCK_PODS
from contracts.admission.operator_writes import CONTROLLER_POLICIES
from contracts.admission.policy import AdmissionPolicy
from contracts.api.group import (
    API_VERSION,
    BACKUP_KIND,
    BACKUPS,
    CLUSTER_KIND,
    RESTORE_KIND,
    RESTORES,
)
from contracts.builders.job import backup_job, restore_job, restore_test_job
from contracts.builders.security_context import container_security
from contracts.builders.upgrade_job import upgrade_job
from contracts.jobs.upgrade_actions import STEP_DOWN, Order
from contracts.naming import labels, names
from e2e.rig import Rig
from managers.jobs.status import Rights, rights_objects
from runtime import builtin_kinds as kinds
from runtime.apply.ownership import Owner
from runtime.types import Object
from tests.contracts.builders.job_templates import Server
from tests.gen.job_templates import backup_env, job_template, proof_env, restore_env, target
from tests.integration import locked
from tests.integration.locked import OPERATOR, TENANT, Place, owner_reference

POLICIES: tuple[AdmissionPolicy, ...] = (LOCK_PODS, *CONTROLLER_POLICIES)
CLUSTER = "x"
BACKUP, RESTORE, ITSELF = (
    Owner(API_VERSION, kind, "ns", name, "00000000-0000-0000-0000-000000000001")
    for kind, name in ((BACKUP_KIND, "nightly"), (RESTORE_KIND, "monday"), (CLUSTER_KIND, CLUSTER))
)
S3 = target(credentialsSecretRef={"name": "store"})
PVC = target("pvc", pvc={"claimName": "bao-snapshots"})
RESTORER = job_template(account=names.job_service_account(CLUSTER, "restore"))
UPGRADER = job_template(account=names.job_service_account(CLUSTER, "upgrade"))
STEP = upgrade_job(UPGRADER, Order(STEP_DOWN, "run-1", "x-0"))
CONFIG_FILE = {"path": "a", "fieldRef": {"fieldPath": "metadata.annotations['openbao.org/a']"}}
SERVER = Server(
    {
        "name": "openbao", "image": "bao:1", "restartPolicy": "Always",
        "securityContext": container_security(),
    },
    (
        {"name": "throw-away-data", "emptyDir": {}},
        {"name": "unseal", "secret": {"secretName": names.unseal_key_secret(CLUSTER)}},
        {"name": "config", "downwardAPI": {"items": [CONFIG_FILE]}},
    ),
)  # fmt: skip
"""The server of a restore test, with the keys of its seal."""
JOBS: dict[str, tuple[Owner, Object]] = {
    "backup": (BACKUP, backup_job(job_template(), S3, backup_env(S3))),
    "backup to a volume": (BACKUP, backup_job(job_template(), PVC, backup_env(PVC))),
    "restore": (RESTORE, restore_job(RESTORER, S3, restore_env(S3))),
    "test": (BACKUP, restore_test_job(job_template(), S3, proof_env(S3), SERVER)),
    "step of an upgrade": (ITSELF, STEP),
}


@pytest.fixture(scope="module")
def place(control_plane: Rig) -> Iterator[Place]:
    """The control plane with the policies for the operator."""
    place = locked.prepare(control_plane, POLICIES)
    where, operator = place.namespace(), place.client(OPERATOR)
    locked.await_refusal(operator, kinds.JOB, _job(where, "backup", run=None), "OpenBaoBackup or")
    loose = _job(where, "backup")
    loose["spec"]["template"]["spec"]["hostNetwork"] = True
    locked.await_refusal(operator, kinds.JOB, loose, "must not share network")
    stray = {"metadata": locked.meta(where, "stray"), "rules": [_rule("secrets", "")]}
    locked.await_refusal(operator, kinds.ROLE, stray, "and nothing else")
    yield place
    locked.remove(control_plane, POLICIES)


@pytest.fixture
def home(place: Place) -> str:
    return place.namespace()


def _owned_objects(run: Owner | None) -> list[Object]:
    return [] if run is None else [owner_reference(run.kind, run.name, API_VERSION)]


def _job(namespace: str, which: str, *, run: Owner | None = BACKUP) -> Object:
    usual, body = JOBS[which]
    body = copy.deepcopy(body)
    owner = None if run is None else usual
    body["metadata"] |= {"namespace": namespace, "ownerReferences": _owned_objects(owner)}
    return body


@pytest.mark.parametrize("which", JOBS)
def test_the_operator_may_create_its_jobs(place: Place, home: str, which: str) -> None:
    operator, body = place.client(OPERATOR), _job(home, which)
    operator.create(kinds.JOB, body)
    # After its end is recorded, the operator sets its time to live.
    change = {"spec": {"ttlSecondsAfterFinished": 3600}}
    operator.patch(kinds.JOB, home, body["metadata"]["name"], change)


Change = Callable[[Any], object]


def _pod(change: Change) -> Change:
    return lambda job: change(job["spec"]["template"]["spec"])


def _mounts(secret: str, **more: Any) -> Change:
    volume = {"name": "more", "secret": {"secretName": secret, **more}}
    return _pod(lambda pod: pod["volumes"].append(volume))


def _projects(secret: str) -> Change:
    volume = {"name": "more", "projected": {"sources": [{"secret": {"name": secret}}]}}
    return _pod(lambda pod: pod["volumes"].append(volume))


class RefusedJob(NamedTuple):
    """A Job, a change of it, and a part of the refusal."""

    which: str
    change: Change
    words: str


REFUSED: dict[str, RefusedJob] = {
    "of no run": RefusedJob(
        "backup", lambda job: job["metadata"].pop("ownerReferences"), "is controlled by"
    ),
    "of a cluster": RefusedJob(
        "backup",
        lambda job: job["metadata"]["ownerReferences"][0].update(kind="OpenBaoCluster"),
        "is controlled by",
    ),
    "a step of an upgrade of another cluster": RefusedJob(
        "step of an upgrade",
        lambda job: job["metadata"]["ownerReferences"][0].update(name="another"),
        "is controlled by",
    ),
    "a step of an upgrade with the account of a restore": RefusedJob(
        "step of an upgrade",
        _pod(lambda pod: pod.update(serviceAccountName="x-restore-serviceaccount")),
        "for an upgrade <cluster>-upgrade-serviceaccount",
    ),
    "a backup with the account of an upgrade": RefusedJob(
        "backup",
        _pod(lambda pod: pod.update(serviceAccountName="x-upgrade-serviceaccount")),
        "must be <cluster>-backup-serviceaccount",
    ),
    "of no cluster": RefusedJob(
        "backup", lambda job: job["metadata"]["labels"].pop(labels.CLUSTER), "of a cluster only"
    ),
    "with retries": RefusedJob(
        "restore", lambda job: job["spec"].update(backoffLimit=1), "one pod, once"
    ),
    "in parallel": RefusedJob(
        "restore", lambda job: job["spec"].update(parallelism=2, completions=2), "one pod, once"
    ),
    "with restarts in its pod": RefusedJob(
        "restore", _pod(lambda pod: pod.update(restartPolicy="OnFailure")), "one pod, once"
    ),
    "as the operator": RefusedJob(
        "backup",
        _pod(lambda pod: pod.update(serviceAccountName="openbao-operator-controller")),
        "must be <cluster>-backup-serviceaccount",
    ),
    "as a server": RefusedJob(
        "backup",
        _pod(lambda pod: pod.update(serviceAccountName=names.service_account(CLUSTER))),
        "must be <cluster>-backup-serviceaccount",
    ),
    "with a root token": RefusedJob(
        "backup", _mounts(names.root_token_secret(CLUSTER)), "must not read a root token"
    ),
    "with recovery shares": RefusedJob(
        "restore", _projects(names.recovery_shares_secret(CLUSTER)), "must not read a root token"
    ),
    "with the key of the CA": RefusedJob(
        "backup", _mounts(names.tls_ca_secret(CLUSTER)), "must not read a root token"
    ),
    "with the key of a server": RefusedJob(
        "backup",
        _mounts(names.tls_server_secret(CLUSTER), items=[{"key": "tls.key", "path": "k"}]),
        "must not read a root token",
    ),
    "with the unseal key": RefusedJob(
        "backup", _mounts(names.unseal_key_secret(CLUSTER)), "must not read a root token"
    ),
    "with a server without security context": RefusedJob(
        "test",
        _pod(lambda pod: pod["initContainers"][0].pop("securityContext")),
        "must drop all capabilities",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_the_operator_may_not_create_such_a_job(place: Place, home: str, what: str) -> None:
    which, change, words = REFUSED[what]
    body = _job(home, which)
    change(body)
    assert words in locked.refusal(lambda: place.client(OPERATOR).create(kinds.JOB, body))


def test_jobs_of_other_users_are_not_restricted(place: Place, home: str) -> None:
    container = {"name": "a", "image": "a"}
    spec = {"template": {"spec": {"restartPolicy": "OnFailure", "containers": [container]}}}
    place.client(TENANT).create(
        kinds.JOB, {"metadata": {"name": "mine", "namespace": home}, "spec": spec}
    )


# --- the rights of a run


def _rule(resource: str, group: str = "openbao.org", **more: Any) -> Object:
    return {
        "apiGroups": [group],
        "resources": [resource],
        "resourceNames": ["nightly"],
        "verbs": ["get"],
        **more,
    }


def _rights(namespace: str, run: Owner, **changes: Any) -> tuple[Object, Object]:
    """The Role and the RoleBinding of a run in this namespace, as the operator creates them."""
    restores = run is RESTORE
    job = "restore" if restores else "backup"
    usual: dict[str, Any] = {
        "cluster": CLUSTER,
        "job": f"{job}-{run.name}",
        "account": names.job_service_account(CLUSTER, "restore" if restores else "backup"),
        "resource": RESTORES if restores else BACKUPS,
    }
    owner = Owner(run.api_version, run.kind, namespace, run.name, run.uid)
    role, binding = (
        copy.deepcopy(intent.body)
        for intent in rights_objects(owner, Rights(**{**usual, **changes}))
    )
    for body in (role, binding):
        body["metadata"]["ownerReferences"] = _owned_objects(run)
    return role, binding


@pytest.mark.parametrize("run", [BACKUP, RESTORE], ids=["backup", "restore"])
def test_permissions_for_the_status_of_a_run_are_granted_and_removed(
    place: Place, home: str, run: Owner
) -> None:
    operator = place.client(OPERATOR)
    role, binding = _rights(home, run)
    operator.create(kinds.ROLE, role)
    operator.create(kinds.ROLE_BINDING, binding)
    for kind in (kinds.ROLE_BINDING, kinds.ROLE):
        operator.delete(kind, home, role["metadata"]["name"])


ROLES_REFUSED: dict[str, Change] = {
    "of another run": lambda role: role["rules"][0].update(resourceNames=["weekly"]),
    "of all runs": lambda role: role["rules"][0].pop("resourceNames"),
    "of two runs": lambda role: role["rules"][0].update(resourceNames=["nightly", "weekly"]),
    "of another kind": lambda role: role["rules"][0].update(resources=["openbaorestores"]),
    "of clusters": lambda role: role["rules"].append(_rule("openbaoclusters")),
    "of Secrets": lambda role: role["rules"].append(_rule("secrets", "")),
    "to change the run": lambda role: role["rules"][0].update(verbs=["get", "patch"]),
    "to delete": lambda role: role["rules"][1].update(verbs=["delete"]),
    "of a run that does not own it": lambda role: role["metadata"].pop("ownerReferences"),
}


@pytest.mark.parametrize("what", ROLES_REFUSED)
def test_a_job_gets_no_other_permissions(place: Place, home: str, what: str) -> None:
    role, _ = _rights(home, BACKUP)
    ROLES_REFUSED[what](role)
    assert "and nothing else" in locked.refusal(
        lambda: place.client(OPERATOR).create(kinds.ROLE, role)
    )


BINDINGS_REFUSED: dict[str, Change] = {
    "to a server": lambda binding: binding["subjects"][0].update(
        name=names.service_account(CLUSTER)
    ),
    "to the account of restores": lambda binding: binding["subjects"][0].update(
        name=names.job_service_account(CLUSTER, "restore")
    ),
    "to an account of another namespace": lambda binding: binding["subjects"][0].update(
        namespace="default"
    ),
    "to a user": lambda binding: binding.update(
        subjects=[{"kind": "User", "name": "tina", "apiGroup": kinds.ROLE.group}]
    ),
    "to two": lambda binding: binding["subjects"].append(
        {"kind": "ServiceAccount", "name": "default", "namespace": binding["metadata"]["namespace"]}
    ),
    "of another Role": lambda binding: binding["roleRef"].update(name="x-role"),
    "of a ClusterRole": lambda binding: binding["roleRef"].update(kind="ClusterRole"),
    "of no run": lambda binding: binding["metadata"].pop("ownerReferences"),
}


@pytest.mark.parametrize("what", BINDINGS_REFUSED)
def test_no_other_subject_is_bound(place: Place, home: str, what: str) -> None:
    _, binding = _rights(home, BACKUP)
    BINDINGS_REFUSED[what](binding)
    assert "must bind one ServiceAccount" in locked.refusal(
        lambda: place.client(OPERATOR).create(kinds.ROLE_BINDING, binding)
    )
