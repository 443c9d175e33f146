"""Ways in through an Ingress."""
