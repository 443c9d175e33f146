"""Reads the image of this process from its pod, once at startup.

Tools that rewrite images in a manifest (kustomize, a mirror) change the image of a container but
not its environment, so only the spec of the container has the correct image.
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
    """Return the settings with the operator's own image, if it is not set and this is a pod.

    Only logs an error: without the image, the operator replaces servers instead of reloading them.
    """
    installation = settings.installation
    if installation.operator_image or not settings.pod_name:
        return settings
    try:
        pod = await client.get(POD, ObjectKey(installation.namespace, settings.pod_name))
    except (ApiError, Transient) as error:
        structlog.get_logger().warning("the operator's own image is unknown", error=str(error))
        return settings
    updated = dataclasses.replace(installation, operator_image=_image(pod))
    return dataclasses.replace(settings, installation=updated)


def _image(pod: Object) -> str:
    containers = pod["spec"]["containers"]
    images = [entry["image"] for entry in containers if entry["name"] == CONTAINER]
    return str(images[0] if images else containers[0]["image"])
