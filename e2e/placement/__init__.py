"""Where servers run and as whom: accounts that change, and nodes that nobody has."""
