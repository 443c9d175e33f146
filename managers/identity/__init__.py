"""Who the server pods are to Kubernetes: ServiceAccount, Role, RoleBinding. Pure."""
