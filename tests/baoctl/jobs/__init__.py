"""Unit tests of what runs in the pods of jobs: no cluster, and no server but loopback sockets."""
