"""Each overlay of deploy, installed with the operator image, creates a cluster."""
