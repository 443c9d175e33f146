"""Detects the platform from the API groups of the API server, once at startup."""

from __future__ import annotations

import dataclasses

from baoctl.installation_settings import AUTO
from baoctl.settings import Settings
from runtime.client.client import Client
from runtime.errors import NotFound

# Only OpenShift serves this API group, with its SecurityContextConstraints.
SECURITY_GROUP = "/apis/security.openshift.io"


async def with_platform(settings: Settings, client: Client) -> Settings:
    """Return the settings with the platform, if it is not set.

    Raises the errors of the API server, so that the process restarts: a wrong platform would
    replace every pod of every cluster.
    """
    if settings.platform != AUTO:
        return settings
    try:
        await client.get_raw(SECURITY_GROUP)
    except NotFound:
        return settings
    installation = dataclasses.replace(settings.installation, platform="openshift")
    return dataclasses.replace(settings, installation=installation)
