"""What a node has to tell its operator, collected for the effects of a step."""

from attrs import define, field

from broker.node.effects import LogLine


@define(eq=False)
class Log:
    """Collects lines; the shell writes them."""

    lines: list[LogLine] = field(factory=list)

    def debug(self, event: str, **fields: object) -> None:
        """Note what only somebody who looks for a fault wants to know."""
        self.lines.append(LogLine("debug", event, fields))

    def info(self, event: str, **fields: object) -> None:
        """Note what happens in a healthy broker."""
        self.lines.append(LogLine("info", event, fields))

    def warning(self, event: str, **fields: object) -> None:
        """Note what an operator should look at."""
        self.lines.append(LogLine("warning", event, fields))

    def error(self, event: str, **fields: object) -> None:
        """Note what an operator has to mend."""
        self.lines.append(LogLine("error", event, fields))

    def take(self) -> list[LogLine]:
        """Hand over what was collected."""
        lines, self.lines = self.lines, []
        return lines
