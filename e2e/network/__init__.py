"""Network policies, enforced by the kernel: only the connections of the permissions table pass."""
