"""Raft membership as the leader reports it: members, quorum, and which server leads."""
