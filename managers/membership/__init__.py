"""Raft membership as the leader reports it: the first step of the adminops reconciler."""
