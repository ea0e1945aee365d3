"""HOST:PORT as an option of commands."""

from typing import Final

import click

from broker.addresses import Address, parse_address

__all__ = ["ADDRESS", "Address"]


class _AddressType(click.ParamType[Address]):
    """The type of an option that takes an address."""

    name = "HOST:PORT"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Address:
        if isinstance(value, Address):
            return value
        try:
            return parse_address(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


ADDRESS: Final = _AddressType()
"""Use as `@click.option("--listen", type=ADDRESS)`; the command gets an `Address`."""
