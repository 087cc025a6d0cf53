"""Which pool classes can this expression hold?"""
