"""The cluster's own certificate authority and its server certificate."""
