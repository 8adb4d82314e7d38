from .app import ServiceLimits as ServiceLimits
from .app import create_app as create_app
from .server import listening as listening
