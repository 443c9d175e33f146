"""The refusal of a spec that breaks a rule, or that uses fields without an implementation. Pure.

Called by managers.cluster.resolve, and by managers.upgrade.preflight for the spec with another
release.
"""

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.rules.cluster import violations
from contracts.api.rules.unsupported_fields import essential_unserved_fields
from runtime.memo import memoize
from runtime.outcome import Blocked


@memoize
def spec_refusal(cluster: OpenBaoCluster) -> Blocked | None:
    """Return why the spec is refused: InvalidSpec or UnsupportedFields; None if it is valid."""
    broken_rules = violations(cluster)
    if broken_rules:
        return Blocked("InvalidSpec", "; ".join(map(str, broken_rules)))
    unsupported = essential_unserved_fields(cluster.spec)
    return Blocked("UnsupportedFields", "; ".join(unsupported)) if unsupported else None
