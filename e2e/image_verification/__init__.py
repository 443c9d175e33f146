"""The server image must carry a signature, and pods run exactly the content that was signed."""
