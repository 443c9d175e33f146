"""The life cycle of a cluster with all admission policies: they block no required client."""
