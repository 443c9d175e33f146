"""Every CustomResourceDefinition of this operator.

Called by baoctl: to write config/crd and its pages, and to compare with those on the API server.
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
