"""The second set of voters, for an upgrade that replaces all servers at once. Pure.

Built with the parts of the set that serves, on a view of what is meant that names the other set
(as the read replicas are). Its servers join without a vote at the pods that serve, by their names,
and never see the document of the first boot: they cannot make a cluster of their own
(docs/adr/20261122-sets-of-voters.md). The budget of the voters guards both sets.
"""

from __future__ import annotations

from dataclasses import replace

from contracts.hcl.render import Join, render_config, restart_text
from contracts.pools.voter_pool import GreenPoolSpec
from contracts.records.observed import StatefulSetFacts
from contracts.records.resolved import ImageChoice, Resolved
from managers.workload.objects.statefulset import Shape, stateful_set, template_digest
from managers.workload.plan import Inputs
from runtime.apply.intent import Intent
from runtime.memo import memoize


@memoize
def green_view(resolved: Resolved, green: GreenPoolSpec) -> Resolved:
    """Return what is meant, with the second set in the place of the one that serves.

    The template of its pods stays the same when it comes to serve, since a server that has data
    reads nothing any more of how it joined: `restart_text` is that of a set that serves. Raises
    UnwritableError as `render_config` does.
    """
    joining = replace(resolved.config, join=Join(dialled=resolved.revision, non_voter=True))
    serving = replace(resolved.config, join=Join(dialled=green.revision))
    return replace(
        resolved,
        revision=green.revision,
        version=green.version,
        replicas=green.replicas,
        initialized=True,
        config=joining,
        config_text=render_config(joining),
        config_named=render_config(replace(joining, join=Join())),
        restart_text=restart_text(serving),
        pod=replace(resolved.pod, image=green.image),
        images=ImageChoice(green.image, resolved.images.helper, records=green.records),
        # A fence is for a server that serves.
        fenced=(),
    )


def green_inputs(view: Resolved, serving: Inputs) -> Inputs:
    """Say what a server of the second set reads; `view` is its view."""
    files = replace(serving.files, config=view.config_text, named=view.config_named)
    return replace(serving, restart=view.restart_text, files=files)


def green_shape(view: Resolved, inputs: Inputs, live: StatefulSetFacts | None) -> Shape:
    """Say what the StatefulSet is to be; `view` is its view, `inputs` what its servers read.

    Volumes of its own, of the size that the spec asked for when they were made.
    """
    return Shape(
        replicas=view.replicas,
        digest=template_digest(view, inputs.restart),
        reload=inputs.files.digest,
        first_boot=False,
        claim_size=live.claim_size if live else view.storage_size,
        claim_class=live.claim_class if live else view.storage_class,
    )


def green_set(view: Resolved, shape: Shape) -> Intent:
    """Build the StatefulSet of the second set; `view` is its view."""
    return stateful_set(view, shape)
