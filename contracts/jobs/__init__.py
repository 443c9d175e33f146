"""The inputs of the operator's Jobs: image, account, environment, action, manifest.

Pure. Shared by the managers that create Jobs and by `baoctl.jobs`, which runs in them.
"""
