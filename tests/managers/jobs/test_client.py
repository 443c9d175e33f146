"""managers.jobs.client: one Job per run, safe to repeat, and no change of foreign objects."""

from dataclasses import replace
from typing import Any

import pytest

from contracts.api.group import BACKUPS
from contracts.builders.job import backup_job
from contracts.jobs.cloud_identity import ADDRESSES
from managers.jobs.client import TTL_SECONDS, ForeignError, Jobs, RefusedError
from managers.jobs.status import Rights
from runtime.builtin_kinds import JOB, NETWORK_POLICY, ROLE, ROLE_BINDING
from runtime.errors import ApiError, NotFound, QuotaExceeded, Transient, status_error
from runtime.types import Object, ObjectKey
from tests.gen.api import FakeApi, api_error
from tests.gen.job_templates import RUN, backup_env, job_template, target

NAME = "backup-nightly"
KEY = ObjectKey(RUN.namespace, NAME)
CREATE, GET = f"create Job {NAME}", f"get Job {NAME}"
OTHER: Object = {**RUN.reference(), "name": "other", "uid": "uid-other"}
RIGHTS = Rights("x", NAME, "x-backup-serviceaccount", BACKUPS)


def job_manifest() -> Object:
    return backup_job(job_template(), target(), backup_env(target()))


def there(resource: Any = JOB, owner: Object | None = None, **content: Any) -> tuple[Any, Object]:
    owners = [RUN.reference() if owner is None else owner]
    metadata = {"name": NAME, "namespace": RUN.namespace, "uid": "u", "ownerReferences": owners}
    head = {"apiVersion": resource.api_version, "kind": resource.kind}
    return resource, {**head, "metadata": metadata, **content}


async def test_a_job_is_owned_by_its_run_and_a_retry_finds_it() -> None:
    api = FakeApi()
    first = await Jobs(api).ensure(job_manifest(), RUN)
    assert (first.state, first.foreign) == ("Active", False)
    body = api.body_of(CREATE)
    assert body["metadata"]["ownerReferences"] == [RUN.reference()]
    assert api.take_requests() == [CREATE]
    again = await Jobs(api).ensure(job_manifest(), RUN)
    assert (again.uid, again.foreign) == (first.uid, False)
    assert len(api.of(JOB)) == 1


async def test_a_job_of_another_run_is_foreign_and_not_changed() -> None:
    api = FakeApi().with_objects(there(owner=OTHER))
    before = api.of(JOB)
    assert (await Jobs(api).ensure(job_manifest(), RUN)).foreign
    assert api.of(JOB) == before


async def test_a_job_that_is_deleted_during_the_create_is_retried() -> None:
    api = FakeApi().with_objects(there())
    api.refuse(GET, api_error(404))
    with pytest.raises(Transient, match="deleted while"):
        await Jobs(api).ensure(job_manifest(), RUN)


def leaving() -> ApiError:
    cause = {"reason": "NamespaceTerminating", "message": "gone soon", "field": ""}
    return status_error(
        {"code": 403, "reason": "Forbidden", "message": "no", "details": {"causes": [cause]}}
    )


def quota() -> ApiError:
    return status_error({"code": 403, "reason": "Forbidden", "message": "exceeded quota: jobs"})


@pytest.mark.parametrize("error", [api_error(422), leaving()], ids=["content", "namespace"])
async def test_a_permanent_rejection_is_refused(error: ApiError) -> None:
    api = FakeApi()
    api.refuse(CREATE, error)
    with pytest.raises(RefusedError, match=f"{NAME}: "):
        await Jobs(api).ensure(job_manifest(), RUN)


@pytest.mark.parametrize("error", [quota(), api_error(403), api_error(503)], ids=repr)
async def test_a_temporary_rejection_is_raised_unchanged(error: ApiError) -> None:
    api = FakeApi()
    api.refuse(CREATE, error)
    with pytest.raises(type(error)) as raised:
        await Jobs(api).ensure(job_manifest(), RUN)
    assert raised.value is error
    assert isinstance(quota(), QuotaExceeded)


async def test_a_job_is_identified_by_its_uid() -> None:
    jobs = Jobs(FakeApi().with_objects(there()))
    observation = await jobs.get(KEY, "u", RUN.uid)
    assert observation is not None
    assert observation.uid == "u"
    assert await jobs.get(KEY, "of-one-before-it", RUN.uid) is None
    assert await jobs.get(KEY, "", RUN.uid) == observation
    assert await Jobs(FakeApi()).get(KEY, "u", RUN.uid) is None


async def test_a_recorded_job_expires_after_an_hour() -> None:
    api = FakeApi().with_objects(there(spec={}))
    await Jobs(api).expire(KEY, "u")
    (live,) = api.of(JOB)
    assert live["spec"] == {"ttlSecondsAfterFinished": TTL_SECONDS}


@pytest.mark.parametrize("uid", ["of-one-before-it", "u"])
async def test_another_or_no_job_is_not_changed(uid: str) -> None:
    api = FakeApi() if uid == "u" else FakeApi().with_objects(there(spec={}))
    before = api.of(JOB)
    await Jobs(api).expire(KEY, uid)
    await Jobs(api).cancel(KEY, uid)
    assert api.of(JOB) == before


async def test_a_job_is_cancelled_by_its_uid() -> None:
    api = FakeApi().with_objects(there())
    await Jobs(api).cancel(KEY, "u")
    assert api.of(JOB) == []


async def test_the_run_owns_its_rights_and_changes_are_reverted() -> None:
    api = FakeApi()
    jobs = Jobs(api)
    await jobs.ensure_rights(RUN, RIGHTS)
    for resource in (ROLE, ROLE_BINDING):
        (live,) = api.of(resource)
        assert live["metadata"]["ownerReferences"] == [RUN.reference()]
        assert live["metadata"]["name"] == NAME
    api.calls.clear()
    await jobs.ensure_rights(RUN, RIGHTS)
    assert [call.verb for call in api.calls] == ["create", "get", "create", "get"]
    # Another client extends them.
    before = api.of(ROLE)[0]["rules"]
    api.objects[(ROLE, KEY)]["rules"] = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
    await jobs.ensure_rights(RUN, RIGHTS)
    (live,) = api.of(ROLE)
    assert live["rules"] == before
    assert api.body_of(f"apply Role {NAME}")["metadata"]["uid"] == live["metadata"]["uid"]


@pytest.mark.parametrize("resource", [ROLE, ROLE_BINDING], ids=["role", "binding"])
async def test_foreign_rights_are_never_changed(resource: Any) -> None:
    api = FakeApi().with_objects(there(resource, OTHER))
    before = api.of(resource)
    with pytest.raises(ForeignError, match="is not owned by"):
        await Jobs(api).ensure_rights(RUN, RIGHTS)
    await Jobs(api).withdraw_rights(RUN, NAME)
    assert api.of(resource) == before


async def test_rights_are_withdrawn_with_the_run() -> None:
    api = FakeApi()
    jobs = Jobs(api)
    await jobs.ensure_rights(RUN, replace(RIGHTS, metadata=ADDRESSES["s3"]))
    assert len(api.of(NETWORK_POLICY)) == 1
    await jobs.withdraw_rights(RUN, NAME)
    assert api.of(ROLE) == api.of(ROLE_BINDING) == api.of(NETWORK_POLICY) == []
    await jobs.withdraw_rights(RUN, NAME)


async def test_refused_rights_are_named() -> None:
    api = FakeApi()
    api.refuse(f"create Role {NAME}", api_error(422))
    with pytest.raises(RefusedError, match="Role"):
        await Jobs(api).ensure_rights(RUN, RIGHTS)
    with pytest.raises(NotFound):
        await api.get(ROLE, KEY)
