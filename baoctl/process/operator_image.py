"""Finding out which image this process runs from: asked once, of the API server, at the start.

What names images in a manifest (kustomize, a mirror) rewrites the image of a container and not the
environment beside it, so the container itself is the one place that is right.
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
    """Fill in the operator's own image, if nobody named it and this process runs in a pod.

    Without it servers are replaced where they could reload, so a failure is only told.
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
