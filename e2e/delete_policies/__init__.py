"""The objects that are deleted or retained with a cluster, and how retained ones are reused."""
