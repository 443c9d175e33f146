"""A pause: nothing is written, whatever there is to do; and what people do by hand meanwhile."""
