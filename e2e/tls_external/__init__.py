"""Certificates of the user's own: good ones, bad ones, newer ones, and the way to them and back."""
