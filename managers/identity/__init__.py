"""Identity of the server pods in Kubernetes: ServiceAccount, Role, RoleBinding. Pure."""
