from .known_doses import CALIBRATION_SHARE as CALIBRATION_SHARE
from .known_doses import demo_audit as demo_audit
from .planted_leak import plant_leak as plant_leak
from .traced import traced_function as traced_function
