"""The resolve step with the decision that depends on the time. Pure; the caller passes the time.

Separate from managers.cluster.resolve.resolve, because the output of `baoctl render` must not
depend on the time. Called by managers.cluster.reconcile.
"""

from __future__ import annotations

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.records.observed import Observed
from contracts.records.resolved import Resolved
from managers.cluster.resolve.resolve import resolve
from managers.context.installation import Installation
from managers.recovery_keys.decide import check_recovery_keys
from runtime.apply.ownership import Owner
from runtime.outcome import Blocked


def resolve_now(
    cluster: OpenBaoCluster, owner: Owner, observed: Observed, installation: Installation
) -> Resolved | Blocked:
    """Resolve, and block an initialization whose recovery keys are not valid at this moment."""
    resolved = resolve(cluster, owner, observed, installation)
    if isinstance(resolved, Blocked) or resolved.initialized:
        return resolved
    return check_recovery_keys(cluster, observed.now) or resolved
