"""Who is in the raft cluster, as its leader says: the first duty of the adminops reconciler."""
