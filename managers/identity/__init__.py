"""The identity of servers and jobs in Kubernetes: ServiceAccounts, Role, RoleBinding. Pure."""
