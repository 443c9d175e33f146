"""The number of servers goes up and down while a client writes through the Service."""
