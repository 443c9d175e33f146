"""A demo of an upgrade: three servers, a new version, and a client that notices little of it.

Called by `make demo-upgrade`. The story is told by `story`, what is drawn is made by `tree`.
"""
