from .settings import MakeSettings as MakeSettings
