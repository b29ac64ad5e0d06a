"""Dialoscope: how good is an open-domain dialogue system, and how far can that number be trusted?

The public names are in `__init__.pyi`. Each is imported when it is first used, so that `import dialoscope`
loads nothing.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
