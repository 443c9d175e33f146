"""The green pool of a blue/green upgrade: a second StatefulSet of voters. Pure.

Built with the functions of the blue pool, on a view of the resolved record that names the green
pool (as for the read replicas). Its servers join the blue pods by name, without a vote, and never
mount the self-init configuration: they cannot initialize a separate cluster
(docs/adr/20261122-sets-of-voters.md). The disruption budget of the voters covers both pools.
Called by `managers.cluster.plan.green_pool`.
"""

from __future__ import annotations

from dataclasses import replace

from contracts.hcl.render import Join, reload_text, render_config, restart_text
from contracts.records.observed import StatefulSetFacts
from contracts.records.resolved import ImageChoice, PoolSpec, Resolved
from managers.workload.objects.statefulset import Shape, stateful_set, template_digest
from managers.workload.plan import Inputs
from runtime.apply.intent import Intent
from runtime.memo import memoize


@memoize
def green_view(resolved: Resolved, green: PoolSpec) -> Resolved:
    """Return the resolved record with the green pool in place of the blue one.

    The pod template does not change when green takes over, because a server that has data ignores
    its join settings: `restart_text` is that of a serving pool. Raises UnwritableError as
    `render_config` does.
    """
    config = replace(resolved.config, version=green.release.version)
    joining = replace(config, join=Join(revision=resolved.revision, non_voter=True))
    serving = replace(config, join=Join(revision=green.revision))
    return replace(
        resolved,
        revision=green.revision,
        version=green.release.version,
        replicas=green.replicas,
        initialized=True,
        config=joining,
        config_text=render_config(joining),
        reload_text=reload_text(replace(joining, join=Join())),
        restart_text=restart_text(serving),
        pod=replace(resolved.pod, image=green.images.server),
        images=ImageChoice(
            green.images.server, resolved.images.operator_image, records=green.images.records
        ),
        # Fences apply to the serving pool only.
        fenced=(),
    )


def green_inputs(view: Resolved, serving: Inputs) -> Inputs:
    """Return the inputs of a green server; `view` is the result of `green_view`."""
    files = replace(serving.files, config=view.config_text, reload_text=view.reload_text)
    return replace(serving, restart=view.restart_text, files=files)


def green_shape(view: Resolved, inputs: Inputs, live: StatefulSetFacts | None) -> Shape:
    """Return the shape of the StatefulSet; `inputs` are those of its servers.

    It has its own volumes, of the size that the spec requested when they were created.
    """
    return Shape(
        replicas=view.replicas,
        digest=template_digest(view, inputs.restart),
        reload=inputs.files.digest,
        first_boot=False,
        claim_size=live.claim_size if live else view.storage_size,
        claim_class=live.claim_class if live else view.storage_class,
    )


def green_stateful_set(view: Resolved, shape: Shape) -> Intent:
    """Build the StatefulSet of the green pool."""
    return stateful_set(view, shape)
