"""The lifecycle of one service of a datacenter: its state machine and its driver.

For I/O it may use `managers.datacenter.interfaces` only.
"""
