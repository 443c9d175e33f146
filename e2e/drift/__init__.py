"""What others change or delete of a cluster's objects, and how soon it is back."""
