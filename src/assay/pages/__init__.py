"""What a run found, for people: tables, plots, one HTML file, and the run folder that holds the numbers.

write_run(folder, audit, manifest)    store a run            read_run(folder)     get it back
render_report(audit, manifest)        the page as text       write_report(folder) the page of a run folder
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
