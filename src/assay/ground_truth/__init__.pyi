from .doses import demo_functions as demo_functions
from .doses import known_dose_functions as known_dose_functions
from .doses import library_root as library_root
from .sketch import TrainedTexts as TrainedTexts
from .sketch import trained_texts as trained_texts
