from .building import REPEATED as REPEATED
from .building import UnseenSet as UnseenSet
from .building import build_unseen_set as build_unseen_set
from .candidates import Period as Period
from .candidates import UnseenRequest as UnseenRequest
from .candidates import UnseenUnit as UnseenUnit
