"""The life cycle of a cluster with all admission policies: required actors are not blocked."""
