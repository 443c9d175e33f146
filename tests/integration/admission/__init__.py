"""The admission policies for specs on a real API server, with requests of real users."""
