"""Do metrics agree with each other?"""
