"""Builds the hot path as machine code, where that can be done; everything else is in pyproject.toml.

`CONCORD_COMPILED=1` demands it, and the build fails without Cython or a compiler. `CONCORD_COMPILED=0` leaves
it out. Otherwise a wheel has it if both are there, and an editable installation has not: who changes sources
wants what runs to be what they read.

All modules are built or none, because they rely on each other's extension types.
"""

import os
from pathlib import Path
from typing import Final

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

MODULES: Final = (
    "broker.client.delivery",
    "broker.filters.filter",
    "broker.filters.readers",
    "broker.form",
    "broker.matching.affixes",
    "broker.matching.boxes",
    "broker.matching.bucket",
    "broker.matching.elements",
    "broker.matching.equality",
    "broker.matching.index",
    "broker.matching.node",
    "broker.matching.pairs",
    "broker.matching.ranges",
    "broker.publication",
    "broker.station.filter_values",
    "broker.station.value_reader",
    "broker.wire.events",
    "broker.wire.publications",
    "broker.wire.writing",
)
"""What is built: where time goes for each event, and nothing that the explorer's mutants replace."""

COMPILED: Final = os.environ.get("CONCORD_COMPILED", "")


class BuildTogether(build_ext):
    """Builds all extensions, or takes back those that were built."""

    def run(self) -> None:
        """Build, unless this is an editable installation that nobody wants compiled."""
        if self.editable_mode and COMPILED != "1":
            self.extensions = []
        super().run()

    def build_extensions(self) -> None:
        """Go on without any of them if one cannot be built."""
        try:
            super().build_extensions()
        except Exception as error:
            if COMPILED == "1":
                raise
            self.warn(f"the hot path stays pure Python: {error}")
            for extension in self.extensions:
                Path(self.get_ext_fullpath(extension.name)).unlink(missing_ok=True)
            self.extensions = []


def extensions() -> list[Extension]:
    """Return the modules to build; none without Cython, or where nobody wants them."""
    if COMPILED == "0":
        return []
    try:
        from Cython.Build import cythonize  # noqa: PLC0415 - it may be absent
    except ImportError:
        if COMPILED == "1":
            raise
        return []
    built: list[Extension] = cythonize(
        [Extension(name, [f"{name.replace('.', '/')}.py"]) for name in MODULES],
        build_dir="build/cython",
        language_level=3,
        # Annotations say what mypy checks. The types of C are in the .pxd files.
        compiler_directives={"annotation_typing": False},
        quiet=True,
    )
    return built


setup(ext_modules=extensions(), cmdclass={"build_ext": BuildTogether})
