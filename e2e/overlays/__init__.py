"""Each overlay of deploy, installed from the operator image, brings a cluster up."""
