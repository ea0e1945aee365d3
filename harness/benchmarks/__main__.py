"""`make bench`: every benchmark, one table each."""

import click

from harness.benchmarks import costs, detection, journal, lone, matching, order, routing, throughput


@click.command()
@click.option("--quick", is_flag=True, help="One short run of whole overlays.")
def main(*, quick: bool) -> None:
    """Measure everything, and print a table of each."""
    for each in (matching, routing, detection, costs, lone):
        each.command((), standalone_mode=False)
        click.echo()
    for overlay in (throughput, order, journal):
        overlay.command(["--quick"] if quick else [], standalone_mode=False)
        click.echo()


if __name__ == "__main__":
    main()
