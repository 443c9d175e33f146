"""A cloud on one machine that checks: metadata, token services, stores, in a network of its own.

The Jobs under test run in that network as in a pod: with the addresses, names and rules of a real
cloud, and with nothing of them replaced.
"""
