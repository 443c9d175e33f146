"""The life cycle of one cluster on a node, step by step, with a tenant and a datacenter."""
