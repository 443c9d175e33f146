"""Detects the platform of this process: read once from the API server at startup."""

from __future__ import annotations

import dataclasses

from baoctl.settings import AUTO, Settings
from runtime.client.client import Client
from runtime.errors import NotFound

# Only OpenShift serves this API group, with its SecurityContextConstraints.
SECURITY_GROUP = "/apis/security.openshift.io"


async def with_platform(settings: Settings, client: Client) -> Settings:
    """Set the platform if it is not set.

    Raises an error of the API server: a wrong guess would replace every pod of every cluster, so
    the process restarts instead.
    """
    if settings.platform != AUTO:
        return settings
    try:
        await client.get_raw(SECURITY_GROUP)
    except NotFound:
        return settings
    installation = dataclasses.replace(settings.installation, platform="openshift")
    return dataclasses.replace(settings, installation=installation)
