"""The operator killed at each of its writes: whoever comes next finishes, with one key and CA."""
