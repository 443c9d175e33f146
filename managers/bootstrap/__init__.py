"""The prerequisites of the first pod: config.hcl, the unseal key, the self-init configuration."""
