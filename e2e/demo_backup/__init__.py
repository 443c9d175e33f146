"""The backup demo: writes data, takes a snapshot, destroys the data, restores it, and reads it.

Builds on the parts of e2e.demo and on the object store of e2e.harness. Called by
`make demo-backup`; only on a rig, because the store runs on its node.
"""
