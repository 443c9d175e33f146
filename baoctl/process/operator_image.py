"""The image of this process: read once from the API server, at the start.

Tools that rewrite images in a manifest (kustomize, a mirror) change the image of a container and
not its environment, so only the container itself is right.
"""

from __future__ import annotations

import dataclasses

import structlog

from baoctl.settings import Settings
from runtime.builtin_kinds import POD
from runtime.client.client import Client
from runtime.errors import ApiError, Transient
from runtime.types import Object, ObjectKey

CONTAINER = "operator"


async def with_own_image(settings: Settings, client: Client) -> Settings:
    """Fill in the operator's own image, unless it is set, if this process runs in a pod.

    Without it servers are replaced where they could reload, so a failure is only logged.
    """
    installation = settings.installation
    if installation.operator_image or not settings.pod_name:
        return settings
    try:
        pod = await client.get(POD, ObjectKey(installation.namespace, settings.pod_name))
    except (ApiError, Transient) as error:
        structlog.get_logger().warning("the operator's own image is not known", error=str(error))
        return settings
    updated = dataclasses.replace(installation, operator_image=_image(pod))
    return dataclasses.replace(settings, installation=updated)


def _image(pod: Object) -> str:
    containers = pod["spec"]["containers"]
    named = [one["image"] for one in containers if one["name"] == CONTAINER]
    return str(named[0] if named else containers[0]["image"])
