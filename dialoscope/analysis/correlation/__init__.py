"""Do metrics agree with people?"""
