"""A whole life of a cluster under all admission policies: nobody who has to act is kept from it."""
