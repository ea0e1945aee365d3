"""State machines with one table of transitions, and one way to move.

Law: a move that is not in the table is a defect, and is refused before anything has changed.
"""

from collections.abc import Mapping
from enum import Enum
from typing import TypeVar

State = TypeVar("State", bound=Enum)

Transitions = Mapping[State, frozenset[State]]
"""For each state, the states that may follow it."""


def follow(transitions: Transitions[State], state: State, following: State) -> State:
    """Return the following state.

    Raises:
        AssertionError: the table does not have it.
    """
    if following not in transitions[state]:
        raise AssertionError(f"{state} is not followed by {following}")
    return following
