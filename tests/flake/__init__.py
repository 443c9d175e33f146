"""The flake runner's pure parts."""
