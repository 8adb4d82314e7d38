from .app import create_app as create_app
from .connections import BACKLOG as BACKLOG
from .connections import Connections as Connections
from .connections import listening as listening
from .settings import ServiceAddress as ServiceAddress
from .settings import ServiceLimits as ServiceLimits
