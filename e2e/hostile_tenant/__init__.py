"""One tenant does all that is known to harm an operator, and another tenant notices nothing."""
