"""What a change of the configuration does to the servers: nothing, a reload, or a roll."""
