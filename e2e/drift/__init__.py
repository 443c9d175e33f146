"""Changes and deletions of managed objects by other clients, and how fast they are reverted."""
