"""``python -m ilspace.cli``, where the script ``ilspace`` is not on the path."""

from ilspace.cli import main

main()
