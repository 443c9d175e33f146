"""A simulated cloud in its own network: metadata, token services and stores that check credentials.

The Jobs under test run unchanged in that network, as in a pod: with the addresses, names and rules
of a real cloud.
"""
