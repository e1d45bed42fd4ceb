"""The version, written here and nowhere else; where every layer can read it."""

__version__ = "0.1.0"
