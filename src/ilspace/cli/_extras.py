"""What to say when an optional library is not installed; imports none itself."""

from __future__ import annotations


def explain(error: ImportError, what: str) -> str:
    """Turn a failed import into one sentence that says how to go on.

    A module of our own that is missing is a mistake of ours, and is raised again.
    """
    if (error.name or "").partition(".")[0] == "ilspace":
        raise error
    if 'pip install "' in str(error):  # said already, where it was met
        return str(error)
    missing = (error.name or str(error)).partition(".")[0]
    return f'{what} needs {missing}, which is not installed: pip install "ilspace[demo]"'
