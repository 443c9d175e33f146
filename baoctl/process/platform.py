"""Finding out on which platform this process runs: asked once, of the API server, at the start."""

from __future__ import annotations

import dataclasses

from baoctl.settings import AUTO, Settings
from runtime.client.client import Client
from runtime.errors import NotFound

# Served by OpenShift alone: its SecurityContextConstraints are of this group.
SECURITY_GROUP = "/apis/security.openshift.io"


async def with_platform(settings: Settings, client: Client) -> Settings:
    """Fill in the platform, unless it is set.

    Raises what the API server cannot answer: a wrong guess would replace every pod of every
    cluster, so the process restarts instead.
    """
    if settings.platform != AUTO:
        return settings
    try:
        await client.get_raw(SECURITY_GROUP)
    except NotFound:
        return settings
    installation = dataclasses.replace(settings.installation, platform="openshift")
    return dataclasses.replace(settings, installation=installation)
