"""Questions of one client to all brokers of the overlay: each is answered once, in pages."""

from collections.abc import Callable

from attrs import define, field

from broker.messages import WayAnswer
from broker.node.answers import pages_of
from broker.node.budget import Account, Resource
from broker.node.connection import Connection
from broker.node.exchange import Exchange


@define(eq=False)
class OverlayQuestions:
    """The open questions of one client; too many are refused."""

    _connection: Connection
    _exchange: Exchange
    _account: Account
    _refuse: Callable[[int, str, str], None]
    _questions: set[str] = field(factory=set, init=False)

    def ask(self, number: int, ask: Callable[[str], None]) -> None:
        """Ask other brokers under the id of a new question, and pass on each page of the answer."""
        exchange, broker = self._exchange, self._exchange.budgets.broker
        text = self._account.refusal(Resource.QUESTIONS) or broker.refusal(Resource.QUESTIONS)
        if text:
            self._refuse(number, "too-many", text)
            return

        def answer(part: WayAnswer) -> None:
            for page in pages_of(number, iter(part.steps), more=part.more):
                self._connection.send(page)
            if not part.more:
                self._questions.discard(question)
                self._account.release(Resource.QUESTIONS)

        question = exchange.question(answer)
        self._questions.add(question)
        self._account.charge(Resource.QUESTIONS)
        ask(question)

    def forget(self) -> None:
        """Forget all questions: the client has gone."""
        for question in self._questions:
            self._exchange.forget_question(question)
