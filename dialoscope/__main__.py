"""`python -m dialoscope`."""

from dialoscope.cli import main

main()
