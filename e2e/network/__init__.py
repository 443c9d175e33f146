"""Network policies enforced by the kernel: what the permissions table allows, and nothing else."""
