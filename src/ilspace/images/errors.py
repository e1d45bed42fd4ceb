"""What is wrong with pictures, or with what reads them."""


class PictureError(ValueError):
    """A request about pictures that makes no sense; the message says what to do."""
