"""Reads OpenBaoCluster objects of a cache; all reconcilers share the parsed objects."""

from contracts.api.cluster.spec import OpenBaoCluster
from runtime.memo import memoize

read_cluster = memoize(OpenBaoCluster.from_object)
"""Raises InvalidClusterError. Keeps the result while the object in the cache is unchanged."""
