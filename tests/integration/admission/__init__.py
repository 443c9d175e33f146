"""The admission policies about specs on a real API server, with requests of real users."""
