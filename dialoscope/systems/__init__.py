"""Systems under test: functions, programs, servers, models, a baseline, recorded replies; all asked alike."""

from dialoscope.systems.base import NoAnswer, Question, Session, System
from dialoscope.systems.naming import system
from dialoscope.systems.run import Responses, respond

__all__ = ["NoAnswer", "Question", "Responses", "Session", "System", "respond", "system"]
