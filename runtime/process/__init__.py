"""The parts of a process other than controllers: start and stop, HTTP endpoints, logs, garbage
collection.

Called by `baoctl.process` and by Jobs.
"""
