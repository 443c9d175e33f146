"""What settings do to the speed of the servers: the figures of docs/tuning.md."""
