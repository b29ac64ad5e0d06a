"""How far can each metric be trusted, by what is known from rated corpora?"""
