"""The second demo: data is written, kept in a store, destroyed, put back, and read.

Builds on the parts of e2e.demo and on the object store of e2e.harness. Called by
`make demo-backup`; only on a rig, because the store lives on its node.
"""
