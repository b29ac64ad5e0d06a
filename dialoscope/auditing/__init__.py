"""Does a metric notice when replies get worse?"""

from dialoscope.auditing.curve import Curve, Point
from dialoscope.auditing.report import Audit
from dialoscope.auditing.run import audit

__all__ = ["Audit", "Curve", "Point", "audit"]
