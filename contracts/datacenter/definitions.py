"""Every CustomResourceDefinition of this operator.

Called by baoctl.generate, to write config/crd, its pages and contracts/api/schema/expected.json.
"""

from __future__ import annotations

from contracts.api.schema import backup, crd, restore, tenant
from contracts.api.schema.crd import Schema


def definitions(*, datacenters: bool = True) -> tuple[Schema, ...]:
    """Return new copies of the definitions; those of datacenters only if `datacenters` is set."""
    clusters = (crd.crd(), tenant.crd(), backup.crd(), restore.crd())
    if not datacenters:
        return clusters
    # Imported here: an operator without datacenters does not need the memory of the models.
    from contracts.datacenter.schema import crds

    return (*clusters, *crds())
