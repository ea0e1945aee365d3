"""Where ports lead that are no end of a connection: a journal's, and those of clients."""

from typing import Final

from broker.core import Hop

NOWHERE: Final = Hop(0, "", is_link=False, bit=0)
