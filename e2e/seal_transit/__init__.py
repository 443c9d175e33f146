"""A cluster that another OpenBao unseals: its transit engine, a token, an authority."""
