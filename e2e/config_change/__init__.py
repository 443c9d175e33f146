"""Effects of configuration changes on the servers: none, a reload, or a rollout."""
