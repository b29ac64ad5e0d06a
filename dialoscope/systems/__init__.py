"""Systems under test: functions, programs, servers, models, a retrieval baseline, recorded replies.

All of them are asked alike: contexts in, replies out. Nothing here scores a reply.
"""
