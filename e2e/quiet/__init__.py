"""A cluster that nobody touches costs nothing, and a change is told at once."""
