"""Do people agree with each other?"""
