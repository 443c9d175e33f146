"""External certificates: valid, invalid and renewed ones, and changes of the TLS mode."""
