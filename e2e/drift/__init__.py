"""Changes and deletions of managed objects by others, and how fast they are reverted."""
