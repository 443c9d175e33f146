"""A frozen leader that resumes after another operator took over."""
