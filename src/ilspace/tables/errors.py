"""What is said of a table that cannot be used."""


class TableError(ValueError):
    """One sentence: what a table must be, what it is, and what to do."""
