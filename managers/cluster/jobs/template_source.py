"""Finding out what the jobs of a cluster have in common: asks registries and the API server.

Handed to the reconcilers of backups, restores and tests as
contracts.jobs.template.JobTemplateSource; what the answers mean is decided in
`managers.cluster.jobs.template`.
"""

from __future__ import annotations

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.group import API_VERSION, CLUSTER_KIND
from contracts.jobs.template import NOTHING_ASKED, JobOverrides, JobTemplate
from contracts.naming.names import Job
from managers.cluster.jobs.template import (
    account_missing,
    claim_missing,
    executor_image,
    executor_of,
    forbidden_addresses,
    image_unknown,
    key_of,
    login_of,
    proven_image,
    wanted_claim,
)
from managers.context.context import MARKS
from managers.context.installation import Installation
from managers.context.reads.api_server import ApiServer
from managers.images.policy import helper_question
from managers.images.verifier import ImageVerifier
from runtime.apply.ownership import Owner, Ownership, describe_owner, ownership_of
from runtime.builtin_kinds import PVC, SERVICE_ACCOUNT
from runtime.client.client import Client
from runtime.errors import NotFound
from runtime.outcome import Blocked, Wait
from runtime.types import Object, ObjectKey, Resource


class ExecutorSource:
    """Knows the installation, and asks about the rest when a job is about to be made."""

    def __init__(
        self,
        client: Client,
        installation: Installation,
        images: ImageVerifier,
        api_server: ApiServer,
    ) -> None:
        self._client = client
        self._installation = installation
        self._images = images
        self._api_server = api_server

    async def of(
        self, cluster: OpenBaoCluster, job: Job, asked: JobOverrides = NOTHING_ASKED
    ) -> JobTemplate | Wait | Blocked:
        """Describe the executor of a job, or say what stands in the way."""
        login = login_of(cluster, job, asked)
        if isinstance(login, Blocked):
            return login
        image = await self._image(cluster, job, asked)
        if not isinstance(image, str):
            return image
        here = self._installation
        forbidden = forbidden_addresses(
            await self._api_server.hosts(), await self._api_server.endpoints()
        )
        executor = executor_of(cluster, job, image, login, here, forbidden)
        obstacle = await self._account(cluster, executor) or await self._volume(cluster, job, asked)
        return obstacle or executor

    async def _image(
        self, cluster: OpenBaoCluster, job: Job, asked: JobOverrides
    ) -> str | Wait | Blocked:
        reference = executor_image(cluster, job, asked, self._installation)
        if not reference:
            return image_unknown(job)
        question = helper_question(cluster.spec, cluster.metadata.namespace, reference)
        verdict = await self._images.verdict(question) if question else None
        return proven_image(cluster, job, reference, verdict)

    async def _account(
        self, cluster: OpenBaoCluster, executor: JobTemplate
    ) -> Wait | Blocked | None:
        """A Job whose account is missing starts late and says nothing: look before."""
        found = await self._look(SERVICE_ACCOUNT, ObjectKey(executor.namespace, executor.account))
        if found is None:
            return account_missing(executor.account)
        owner = Owner(API_VERSION, CLUSTER_KIND, *key_of(cluster), cluster.metadata.uid)
        if ownership_of(found, owner, MARKS) is Ownership.FOREIGN:
            return Blocked(
                "ForeignObject",
                f"ServiceAccount {executor.account} exists and belongs to "
                f"{describe_owner(found, MARKS)}; remove it, or let the operator adopt it",
            )
        return None

    async def _volume(
        self, cluster: OpenBaoCluster, job: Job, asked: JobOverrides
    ) -> Blocked | None:
        claim = wanted_claim(cluster, job, asked)
        if not claim or await self._look(PVC, ObjectKey(cluster.metadata.namespace, claim)):
            return None
        return claim_missing(claim)

    async def _look(self, resource: Resource, key: ObjectKey) -> Object | None:
        try:
            return await self._client.get(resource, key, metadata_only=True)
        except NotFound:
            return None
