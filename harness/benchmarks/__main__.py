"""`make bench`: every benchmark, one table each."""

import click

from harness.benchmarks import costs, detection, journal, matching, order, routing, throughput


@click.command()
@click.option("--quick", is_flag=True, help="One short run of whole overlays.")
def main(*, quick: bool) -> None:
    """Measure everything, and print a table of each."""
    click.echo("Matching an event against many filters; times in microseconds.\n")
    click.echo(matching.table(matching.run()))
    click.echo("\nA subscription that comes or goes, by routing strategy; times in microseconds.\n")
    click.echo(routing.table(routing.run()))
    click.echo()
    click.echo(detection.tables(detection.run_large(), detection.run_paper()))
    click.echo(
        "\nWhat each ordering plugin costs per publication, in simulated overlays of 2 to 6 brokers.\n"
    )
    click.echo(costs.table(costs.run()))
    click.echo()
    arguments = ["--quick"] if quick else []
    throughput.command(arguments, standalone_mode=False)
    click.echo()
    order.command(arguments, standalone_mode=False)
    click.echo()
    journal.command(arguments, standalone_mode=False)


if __name__ == "__main__":
    main()
