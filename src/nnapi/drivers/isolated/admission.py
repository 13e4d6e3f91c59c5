"""Which applications a service admits: no process and no user may take all connections."""

import os
from collections.abc import Sequence
from typing import Protocol

SHARE = 4
"""One process may have 1/``SHARE`` of all connections."""
PROCESSES = 3
"""One user may have as many connections as ``PROCESSES`` processes, and connect as often."""


class Caller(Protocol):
    """An application, by the process and the user that the system names."""

    process: int
    user: int


def find_obstacle(application: Caller, admitted: Sequence[Caller], applications: int) -> str:
    """Return why a service with so many ``applications`` at most refuses one; empty if it does not."""
    if len(admitted) >= applications:
        limit = "as many as it may have at a time (nnapi serve --applications)"
        return f"the service has {len(admitted)} applications, {limit}"
    own = sum(each.process == application.process for each in admitted)
    if own >= (most := max(1, applications // SHARE)):
        return f"process {application.process} has {own} connections, one process may have {most}"
    own = sum(each.user == application.user for each in admitted)
    may_end_service = application.user in (0, os.geteuid())
    if own >= (most := max(1, applications * PROCESSES // SHARE)) and not may_end_service:
        return f"user {application.user} has {own} connections, one user may have {most}"
    return ""
