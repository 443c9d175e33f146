"""The store, the Job or the server fails while a snapshot is taken."""
