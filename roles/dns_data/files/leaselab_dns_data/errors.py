"""The error of data that cannot be made."""


class DataError(ValueError):
    """The data cannot be made as asked; the text says what is wanted."""
