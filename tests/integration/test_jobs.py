"""The Jobs of backups, restores and restore tests on a real API server: admitted and created once.

No controller of Kubernetes runs here, so the tests create the pod from the template.
"""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from contracts.api.group import BACKUPS
from contracts.builders.job import backup_job, restore_job, restore_test_job
from contracts.jobs.cloud_identity import ADDRESSES
from e2e.harness.installation import install
from e2e.rig import Rig
from managers.jobs.client import ForeignError, Jobs
from managers.jobs.status import Rights
from runtime.apply.ownership import Owner
from runtime.builtin_kinds import (
    JOB,
    NAMESPACE,
    NETWORK_POLICY,
    POD,
    ROLE,
    ROLE_BINDING,
    SERVICE_ACCOUNT,
)
from runtime.client.client import Client
from runtime.errors import NotFound
from runtime.types import Object, ObjectKey, Resource, key_of, uid_of
from tests.contracts.builders.job_templates import OPENSHIFT, PVC, S3, TAINTED, Server
from tests.gen.executors import backup_env, executor, proof_env, restore_env

MANAGER = "itest"
QUOTA = Resource("", "v1", "ResourceQuota", "resourcequotas")
RESTRICTED = {
    f"pod-security.kubernetes.io/{key}": value
    for key, value in (("enforce", "restricted"), ("enforce-version", "latest"))
}
COUNTED = ("cpu", "memory", "ephemeral-storage")


@pytest.fixture(scope="module")
def crds(control_plane: Rig) -> None:
    """Install the CRDs of the operator."""
    install(control_plane)


@pytest_asyncio.fixture
async def place(client: Client, namespace: str) -> str:
    """A namespace that enforces the level `restricted`, with a quota that requires all limits."""
    live = await client.get(NAMESPACE, ObjectKey("", namespace))
    live["metadata"]["labels"].update(RESTRICTED)
    await client.update(NAMESPACE, live)
    hard = {f"{part}.{name}": "64" for part in ("requests", "limits") for name in COUNTED[:1]}
    hard |= {f"{part}.{name}": "64Gi" for part in ("requests", "limits") for name in COUNTED[1:]}
    await _create(client, QUOTA, namespace, "all", spec={"hard": hard})
    await _create(client, SERVICE_ACCOUNT, namespace, "x-backup-serviceaccount")
    return namespace


async def _create(
    client: Client, resource: Resource, namespace: str, name: str, **content: object
) -> Object:
    head = {"apiVersion": resource.api_version, "kind": resource.kind}
    metadata = {"name": name, "namespace": namespace}
    body = {**head, "metadata": metadata, **content}
    return await client.create(resource, body, field_manager=MANAGER)


@pytest_asyncio.fixture
async def run(client: Client, place: str, crds: None) -> AsyncIterator[Owner]:
    """An OpenBaoBackup."""
    live = await _create(client, BACKUPS, place, "nightly", spec={"cluster": "x"})
    yield Owner(BACKUPS.api_version, BACKUPS.kind, place, "nightly", uid_of(live))


def in_namespace(job: Object, namespace: str) -> Object:
    return {**job, "metadata": {**job["metadata"], "namespace": namespace}}


SERVER = Server(
    container={
        "name": "openbao",
        "image": "bao:1",
        "restartPolicy": "Always",
        "resources": {
            "requests": {"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1Gi"},
            "limits": {"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1Gi"},
        },
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
)
JOBS: dict[str, Object] = {
    "backup": backup_job(executor(), S3, backup_env(S3)),
    "backup on OpenShift": backup_job(OPENSHIFT, PVC, backup_env(PVC, OPENSHIFT)),
    "backup on tainted nodes": backup_job(TAINTED, S3, backup_env(S3)),
    "restore": restore_job(executor(account="x-backup-serviceaccount"), PVC, restore_env(PVC)),
    "test": restore_test_job(executor(), S3, proof_env(S3), SERVER),
}


@pytest.mark.parametrize("case", JOBS)
async def test_a_restricted_namespace_with_quotas_accepts_the_job_and_its_pod(
    client: Client, place: str, case: str
) -> None:
    job = in_namespace(JOBS[case], place)
    await client.create(JOB, job, field_manager=MANAGER, dry_run=True)
    template = job["spec"]["template"]
    # The Job controller sets this label.
    labels = {**template["metadata"]["labels"], "batch.kubernetes.io/controller-uid": "u"}
    metadata = {**template["metadata"], "labels": labels, "name": "p", "namespace": place}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
    await client.create(POD, pod, field_manager=MANAGER, dry_run=True)


async def test_a_job_is_created_once_and_expires(client: Client, run: Owner) -> None:
    jobs = Jobs(client)
    manifest = in_namespace(JOBS["backup"], run.namespace)
    first = await jobs.ensure(manifest, run)
    again = await jobs.ensure(manifest, run)
    assert (first.uid, first.state, first.foreign) == (again.uid, "Active", False)
    assert first.created_at is not None
    key = key_of(manifest)
    await jobs.expire(key, "of-another", 7)
    await jobs.expire(key, first.uid, 3600)
    live = await client.get(JOB, key)
    assert live["spec"]["ttlSecondsAfterFinished"] == 3600
    (owner,) = live["metadata"]["ownerReferences"]
    assert owner == run.reference()
    await jobs.cancel(key, first.uid)
    job = await jobs.get(key, first.uid, run.uid)
    assert job is None or job.terminating


async def test_a_foreign_job_of_that_name_is_not_used(client: Client, run: Owner) -> None:
    manifest = in_namespace(JOBS["backup"], run.namespace)
    job = await client.create(JOB, manifest, field_manager=MANAGER)
    seen = await Jobs(client).ensure(manifest, run)
    assert seen.foreign
    assert seen.uid == uid_of(job)


RIGHTS = Rights("x", "backup-nightly", "x-backup-serviceaccount", BACKUPS, metadata=ADDRESSES["s3"])
OF_RUN = (ROLE, ROLE_BINDING, NETWORK_POLICY)


async def test_the_permissions_of_a_run_are_created_and_deleted_with_it(
    client: Client, run: Owner
) -> None:
    jobs, key = Jobs(client), ObjectKey(run.namespace, "backup-nightly")
    await jobs.ensure_rights(run, RIGHTS)
    before = [await client.get(kind, key) for kind in OF_RUN]
    await jobs.ensure_rights(run, RIGHTS)
    assert [await client.get(kind, key) for kind in OF_RUN] == before
    widened = {**before[0], "rules": [{"apiGroups": [""], "resources": ["*"], "verbs": ["*"]}]}
    await client.update(ROLE, widened)
    await jobs.ensure_rights(run, RIGHTS)
    assert (await client.get(ROLE, key))["rules"] == before[0]["rules"]
    await jobs.withdraw_rights(run, "backup-nightly")
    for kind in OF_RUN:
        with pytest.raises(NotFound):
            await client.get(kind, key)


async def test_a_role_of_another_owner_is_not_changed(client: Client, run: Owner) -> None:
    await _create(client, ROLE, run.namespace, "backup-nightly", rules=[])
    with pytest.raises(ForeignError):
        await Jobs(client).ensure_rights(run, RIGHTS)
