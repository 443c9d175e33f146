"""The pod template of a cluster."""

from typing import Any

from managers.context.installation import Platform
from managers.workload.objects.pod import pod_template
from tests import gen


def template(
    *, first_boot: bool = False, on: Platform = "kubernetes", **spec: Any
) -> dict[str, Any]:
    """The template of the voters of a cluster with that spec."""
    meant = gen.resolved(gen.cluster(**spec), on=on)
    return pod_template(meant, digest="the digest", reload="the files", first_boot=first_boot)
