"""What one process needs beside its controllers: start and end, HTTP endpoints, logs, garbage.

Called by `baoctl.process`.
"""
