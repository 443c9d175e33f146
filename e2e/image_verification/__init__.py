"""Image verification: the server image must be signed, and pods run the signed digest."""
