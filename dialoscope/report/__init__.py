"""Pages and figures made of results and analyses; nothing is computed here."""
