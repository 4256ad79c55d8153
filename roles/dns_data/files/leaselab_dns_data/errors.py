"""How it fails."""


class DataError(ValueError):
    """What was asked for cannot be made; the text says what is wanted."""
