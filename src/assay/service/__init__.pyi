from .app import Limits as Limits
from .app import create_app as create_app
from .server import listening as listening
