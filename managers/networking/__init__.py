"""Network access to a cluster: Services, NetworkPolicies, Ingress and Gateway routes. Pure."""
