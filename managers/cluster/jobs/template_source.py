"""Reads the inputs of the Job template of a cluster from registries and the API server.

Passed to the reconcilers of backups, restores, restore tests and upgrades as
contracts.jobs.template.JobTemplateSource. `managers.cluster.jobs.template` builds the template.
"""

from __future__ import annotations

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.group import API_VERSION, CLUSTER_KIND
from contracts.jobs.template import NO_OVERRIDES, JobOverrides, JobTemplate
from contracts.naming.names import Job
from managers.cluster.jobs.template import (
    account_missing,
    forbidden_addresses,
    image_unknown,
    job_image,
    job_template_of,
    key_of,
    login_of,
    pvc_missing,
    snapshot_claim,
    verified_image,
)
from managers.context.context import MARKS
from managers.context.installation import Installation
from managers.context.reads.api_server import ApiServer
from managers.images.policy import operator_image_request
from managers.images.verifier import ImageVerifier
from runtime.apply.ownership import Owner, Ownership, describe_owner, ownership_of
from runtime.builtin_kinds import PVC, SERVICE_ACCOUNT
from runtime.client.client import Client
from runtime.errors import NotFound
from runtime.outcome import Blocked, Wait
from runtime.types import Object, ObjectKey, Resource


class TemplateLookup:
    """Reads the inputs of a template before a Job is created."""

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
        self, cluster: OpenBaoCluster, job: Job, overrides: JobOverrides = NO_OVERRIDES
    ) -> JobTemplate | Wait | Blocked:
        """Return the template of a Job, or the reason why there is none."""
        login = login_of(cluster, job, overrides)
        if isinstance(login, Blocked):
            return login
        image = await self._image(cluster, job, overrides)
        if not isinstance(image, str):
            return image
        installation = self._installation
        forbidden = forbidden_addresses(
            await self._api_server.hosts(), await self._api_server.endpoints()
        )
        template = job_template_of(cluster, job, image, login, installation, forbidden)
        problem = await self._account(cluster, template) or await self._volume(
            cluster, job, overrides
        )
        return problem or template

    async def _image(
        self, cluster: OpenBaoCluster, job: Job, overrides: JobOverrides
    ) -> str | Wait | Blocked:
        reference = job_image(cluster, job, overrides, self._installation)
        if not reference:
            return image_unknown(job)
        request = operator_image_request(cluster.spec, cluster.metadata.namespace, reference)
        verdict = await self._images.verdict(request) if request else None
        return verified_image(cluster, job, reference, verdict)

    async def _account(
        self, cluster: OpenBaoCluster, template: JobTemplate
    ) -> Wait | Blocked | None:
        """Check that the account exists: a Job without it starts late and reports nothing."""
        account = await self._get(SERVICE_ACCOUNT, ObjectKey(template.namespace, template.account))
        if account is None:
            return account_missing(template.account)
        owner = Owner(API_VERSION, CLUSTER_KIND, *key_of(cluster), cluster.metadata.uid)
        if ownership_of(account, owner, MARKS) is Ownership.FOREIGN:
            return Blocked(
                "ForeignObject",
                f"ServiceAccount {template.account} exists and belongs to "
                f"{describe_owner(account, MARKS)}; remove it, or let the operator adopt it",
            )
        return None

    async def _volume(
        self, cluster: OpenBaoCluster, job: Job, overrides: JobOverrides
    ) -> Blocked | None:
        pvc = snapshot_claim(cluster, job, overrides)
        if not pvc or await self._get(PVC, ObjectKey(cluster.metadata.namespace, pvc)):
            return None
        return pvc_missing(pvc)

    async def _get(self, resource: Resource, key: ObjectKey) -> Object | None:
        try:
            return await self._client.get(resource, key, metadata_only=True)
        except NotFound:
            return None
