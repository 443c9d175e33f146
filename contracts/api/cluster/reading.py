"""Reads OpenBaoCluster objects of a cache; all reconcilers share what one of them read."""

from contracts.api.cluster.spec import OpenBaoCluster
from runtime.memo import memoize

read_cluster = memoize(OpenBaoCluster.from_object)
"""Raises InvalidClusterError. Keeps the result while an object is the same in the cache."""
