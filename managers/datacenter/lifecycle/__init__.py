"""The life of one service of a datacenter: its state machine, and the driver that steps it.

May use `managers.datacenter.interfaces` alone of what reaches outside.
"""
