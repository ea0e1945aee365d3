"""Options of the form KEY=VALUE that may be repeated."""

import click

__all__ = ["read_pairs"]


def read_pairs(ctx: click.Context, param: click.Parameter, pairs: tuple[str, ...]) -> dict[str, str]:
    """Take KEY=VALUE apart; of one key the last one counts."""
    for pair in pairs:
        if not pair.partition("=")[0] or "=" not in pair:
            raise click.BadParameter(f"expected KEY=VALUE, got {pair!r}", ctx, param)
    return {key: value for key, _, value in (pair.partition("=") for pair in pairs)}
