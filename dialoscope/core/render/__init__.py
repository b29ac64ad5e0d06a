"""Reports as data, and the forms they are shown in: text, Markdown, LaTeX, CSV, JSON.

A report says what is shown, with which notes; a renderer takes its sections or its rows and returns a
string. No other room aligns columns or writes markup.
"""
