"""The operator adopts a running cluster that has the objects of another operator."""
