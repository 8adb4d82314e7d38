from .comparison import Comparison as Comparison
from .comparison import StudentPair as StudentPair
from .comparison import compare_submissions as compare_submissions
from .reading import Submission as Submission
from .reading import read_submissions as read_submissions
from .reading import read_template as read_template
