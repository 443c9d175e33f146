"""The operator killed before, at and after its writes of an upgrade: whoever comes next ends it."""
