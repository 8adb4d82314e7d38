from .codec import context_changes as context_changes
from .di import half_of as half_of
from .di import projected as projected
from .mean import welch as welch
