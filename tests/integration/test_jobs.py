"""The Jobs of backups, restores and restore tests on a real API server: admitted and created once.

No controller of Kubernetes runs here, so the tests create the pod from the template.
"""

import pytest
import pytest_asyncio

from contracts.builders.job import backup_job, restore_job, restore_test_job
from runtime.builtin_kinds import (
    JOB,
    NAMESPACE,
    POD,
    SERVICE_ACCOUNT,
)
from runtime.client.client import Client
from runtime.types import Object, ObjectKey, Resource
from tests.contracts.builders.job_templates import OPENSHIFT, PVC, S3, TAINTED, Server
from tests.gen.job_templates import backup_env, job_template, proof_env, restore_env

MANAGER = "itest"
QUOTA = Resource("", "v1", "ResourceQuota", "resourcequotas")
RESTRICTED = {
    f"pod-security.kubernetes.io/{key}": value
    for key, value in (("enforce", "restricted"), ("enforce-version", "latest"))
}
COUNTED = ("cpu", "memory", "ephemeral-storage")


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
    "backup": backup_job(job_template(), S3, backup_env(S3)),
    "backup on OpenShift": backup_job(OPENSHIFT, PVC, backup_env(PVC, OPENSHIFT)),
    "backup on tainted nodes": backup_job(TAINTED, S3, backup_env(S3)),
    "restore": restore_job(job_template(account="x-backup-serviceaccount"), PVC, restore_env(PVC)),
    "test": restore_test_job(job_template(), S3, proof_env(S3), SERVER),
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
