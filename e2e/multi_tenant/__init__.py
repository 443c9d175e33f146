"""Tenants: the operator may do in each namespace what was granted there, and sees as much."""
