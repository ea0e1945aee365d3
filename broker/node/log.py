"""The log lines of a node, collected for the effects of a step."""

from attrs import define, field

from broker.node.effects import LogLine


@define(eq=False)
class Log:
    """Collects log lines; the shell writes them."""

    lines: list[LogLine] = field(factory=list)

    def debug(self, event: str, **fields: object) -> None:
        """Log an event that matters only in the search for a fault."""
        self.lines.append(LogLine("debug", event, fields))

    def info(self, event: str, **fields: object) -> None:
        """Log an event of a healthy broker."""
        self.lines.append(LogLine("info", event, fields))

    def warning(self, event: str, **fields: object) -> None:
        """Log an event that an operator should look at."""
        self.lines.append(LogLine("warning", event, fields))

    def error(self, event: str, **fields: object) -> None:
        """Log an event that an operator has to repair."""
        self.lines.append(LogLine("error", event, fields))

    def take(self) -> list[LogLine]:
        """Return the lines collected since the last call."""
        lines, self.lines = self.lines, []
        return lines
