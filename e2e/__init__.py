"""Real servers and the scenarios that run on them; nothing here is shipped."""
