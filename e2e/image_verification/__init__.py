"""The server image must be signed, and pods run the signed digest."""
