from .comparison import Comparison as Comparison
from .comparison import StudentPair as StudentPair
from .comparison import compare_submissions as compare_submissions
from .page import render_page as render_page
from .page import write_pages as write_pages
from .reading import Submission as Submission
from .reading import read_submissions as read_submissions
from .reading import read_template as read_template
