"""What one process needs besides its controllers: start and end, HTTP endpoints, logs, garbage.

Called by `baoctl.process`.
"""
