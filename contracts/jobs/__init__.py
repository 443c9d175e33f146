"""What a Job of the operator is started with: image, account, environment, action, manifest.

Pure. Shared by the managers that make Jobs and by `baoctl.jobs`, which runs in them.
"""
