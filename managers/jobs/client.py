"""Creates, reads and deletes Jobs.

Called by the reconcilers of runs. Every method is safe to repeat: the name of a Job is derived from
its run, and the Job is created by a plain create, so a retry finds the first Job. Every read
compares the UID of the owner. Methods raise the errors of runtime.client.client.
"""

from __future__ import annotations

from contextlib import suppress

from managers.context.context import FIELD_MANAGER
from managers.jobs.status import JobObservation, Rights, job_observation, rights_objects
from runtime.apply.apply_result import Refusal, refusal_of
from runtime.apply.intent import Intent, contains
from runtime.apply.ownership import Owner
from runtime.builtin_kinds import JOB, NETWORK_POLICY, ROLE, ROLE_BINDING
from runtime.client.client import Client
from runtime.errors import AlreadyExists, ApiError, Conflict, NotFound, PatchFailed, Transient
from runtime.types import Object, ObjectKey, controller_of, key_of, uid_of

TTL_SECONDS = 3600
"""TTL of a Job and its logs after its result was recorded."""


class RefusedError(Exception):
    """The API server rejects this Job, or the rights of its pod; the message has the reason."""


class ForeignError(RefusedError):
    """An object of that name has another owner, and is not changed."""


class Jobs:
    """The Jobs of runs. A run is an object that needs exactly one Job."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def ensure(self, job: Object, run: Owner) -> JobObservation:
        """Create the Job of a run, or return the one of an earlier attempt.

        `job` has no owner references. A Job of that name with another owner is returned as
        `foreign`. Raises RefusedError if a retry would fail, too: the API server rejects the Job,
        or the namespace is terminating.
        """
        metadata = {**job["metadata"], "ownerReferences": [run.reference()]}
        try:
            live = await self._client.create(
                JOB, {**job, "metadata": metadata}, field_manager=FIELD_MANAGER
            )
        except AlreadyExists:
            observed = await self.get(key_of(job), "", run.uid)
            if observed is None:
                raise Transient(f"Job {key_of(job)} was deleted while it was created") from None
            return observed
        except ApiError as error:
            _raise_if_permanent(error, f"Job {key_of(job)}")
            raise
        return job_observation(live, run.uid)

    async def get(self, key: ObjectKey, uid: str, owner_uid: str) -> JobObservation | None:
        """Read a Job; None if it does not exist.

        `uid` is the recorded UID of the Job, "" before it is recorded: a Job with the same name and
        another UID is ignored. `owner_uid` is the UID of the run.
        """
        try:
            live = await self._client.get(JOB, key)
        except NotFound:
            return None
        if uid and uid_of(live) != uid:
            return None
        return job_observation(live, owner_uid)

    async def expire(self, key: ObjectKey, uid: str, seconds: int = TTL_SECONDS) -> None:
        """Set the TTL of a finished Job; ignores a deleted Job."""
        ops: list[Object] = [
            {"op": "test", "path": "/metadata/uid", "value": uid},
            {"op": "add", "path": "/spec/ttlSecondsAfterFinished", "value": seconds},
        ]
        with suppress(NotFound, PatchFailed):
            await self._client.json_patch(JOB, key, ops, field_manager=FIELD_MANAGER)

    async def cancel(self, key: ObjectKey, uid: str) -> None:
        """Delete a Job and its pod; ignores a deleted Job.

        Must not be called for a Job that must not be interrupted.
        """
        with suppress(NotFound, Conflict):
            await self._client.delete(JOB, key, uid=uid)

    async def ensure_rights(self, run: Owner, rights: Rights) -> None:
        """Create the objects that allow the pod of a run to report, and to get its cloud identity.

        The run owns all objects. Raises ForeignError for an object of that name with another owner,
        and RefusedError like `ensure`.
        """
        for intent in rights_objects(run, rights):
            await self._ensure(run, intent)

    async def withdraw_rights(self, run: Owner, job: str) -> None:
        """Delete the objects of `ensure_rights`. `job` is the name of the Job of the run."""
        key = ObjectKey(run.namespace, job)
        for resource in (NETWORK_POLICY, ROLE_BINDING, ROLE):
            with suppress(NotFound, Conflict):
                live = await self._client.get(resource, key, metadata_only=True)
                if _is_owned(live, run):
                    await self._client.delete(resource, key, uid=uid_of(live))

    async def _ensure(self, run: Owner, intent: Intent) -> None:
        metadata = {**intent.body["metadata"], "ownerReferences": [run.reference()]}
        body = {**intent.body, "metadata": metadata}
        try:
            await self._client.create(intent.resource, body, field_manager=FIELD_MANAGER)
        except AlreadyExists:
            await self._correct(run, intent, body)
        except ApiError as error:
            _raise_if_permanent(error, str(intent))
            raise

    async def _correct(self, run: Owner, intent: Intent, body: Object) -> None:
        try:
            live = await self._client.get(intent.resource, intent.key)
        except NotFound:
            raise Transient(f"{intent} was deleted while it was created") from None
        if not _is_owned(live, run):
            raise ForeignError(f"{intent} exists and is not owned by {run.name}")
        if contains(live, body):
            return
        # With the UID as precondition: the apply must not change another object of that name.
        body = {**body, "metadata": {**body["metadata"], "uid": uid_of(live)}}
        await self._client.apply(intent.resource, body, field_manager=FIELD_MANAGER, force=True)


def _is_owned(live: Object, run: Owner) -> bool:
    controller = controller_of(live)
    return controller is not None and controller.uid == run.uid


def _raise_if_permanent(error: ApiError, what: str) -> None:
    """Raise RefusedError for a permanent rejection."""
    if refusal_of(error) in (Refusal.REJECTED, Refusal.TERMINATING):
        raise RefusedError(f"{what}: {error.message}") from error
