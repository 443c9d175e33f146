"""The whole life of one cluster on a real node, step by step, with a tenant and a datacenter."""
