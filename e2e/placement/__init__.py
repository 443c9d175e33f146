"""Scheduling and ServiceAccounts of servers: changed accounts, and unsatisfiable affinity."""
