"""Does a metric notice when replies get worse?"""
