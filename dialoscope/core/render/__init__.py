"""Results as text: tables for a terminal, Markdown, CSV and JSON.

Renderers take data and return strings. What is shown, and with which notes, is decided elsewhere.
"""
