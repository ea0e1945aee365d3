"""Places on the earth: in a box, `within(place, 47.2, 5.8, 55.1, 15.1)`; near, `near(place, 52.5, 13.4, 10)`.

A place is a map with `lat` and `lon` in degrees. A box has its south-western corner and its north-eastern
one; if its west is greater than its east it reaches over the antimeridian. Distances, in km, are those on a
sphere.

Laws:

* Boxes are compared exactly with each other, and circles with each other as exactly as floating numbers are.
* A circle smaller than a hemisphere covers a box if it covers its corners; a box covers a circle if it covers
  the box around it. What is closer than `MARGIN_KM` to being otherwise counts as in doubt.
* Two machines may differ on a place that is within a millimetre of a circle's rim.
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from math import asin, atan2, cos, degrees, floor, hypot, radians, sin
from typing import ClassVar, Final

from attrs import frozen

from broker.filters.constraint_types import ArgumentError, Call, ConstraintType, Kind
from broker.filters.values import Scalar, Value, is_number

WITHIN: Final = "within"
NEAR: Final = "near"

RADIUS_KM: Final = 6371.0088
"""The mean radius of the earth."""

MARGIN_KM: Final = 1e-3
"""More than distances are wrong by rounding."""

_HALFWAY_KM: Final = 20_016.0
"""A circle of this radius is everything."""

_HEMISPHERE_KM: Final = 10_000.0
"""In circles below this, no place of a box is farther away than its corners."""

_MILLIMETRE: Final = 6
"""Decimals of a kilometre to which distances are rounded."""

_SIZES: Final = tuple(4.0**power for power in range(-3, 6))
"""Sides of the cells of the matching index in degrees: the first is some 2 km, the last is everything."""

Interval = tuple[float, float]
Position = tuple[float, float]


@frozen
class GeoBox:
    """The places from the south to the north, and from the west eastwards to the east."""

    south: float
    west: float
    north: float
    east: float

    @property
    def latitudes(self) -> Interval:
        """Return from where to where it reaches."""
        return self.south, self.north

    @property
    def longitudes(self) -> list[Interval]:
        """Return from where to where it reaches, in two pieces over the antimeridian."""
        if self.west <= self.east:
            return [(self.west, self.east)]
        return [(-180.0, self.east), (self.west, 180.0)]

    @property
    def corners(self) -> list[Position]:
        """Return its corners."""
        return [(lat, lon) for lat in self.latitudes for lon in (self.west, self.east)]


@frozen
class GeoCircle:
    """The places within a distance."""

    lat: float
    lon: float
    km: float

    @property
    def centre(self) -> Position:
        """Return its centre."""
        return self.lat, self.lon


Area = GeoBox | GeoCircle

EVERYWHERE: Final = GeoBox(-90.0, -180.0, 90.0, 180.0)


class Places(ConstraintType[Area, Position]):
    """Boxes and circles."""

    predicates: ClassVar[tuple[str, ...]] = (WITHIN, NEAR)
    kind: ClassVar[Kind] = "map"
    everything: Area = EVERYWHERE

    def parse(self, predicate: str, arguments: Sequence[Scalar]) -> Area:
        """Read a box or a circle."""
        if predicate == NEAR:
            lat, lon, km = _numbers(arguments, 3, f"{NEAR}(place, LAT, LON, KM)")
            _check_position(lat, lon, 0)
            if km < 0:
                raise ArgumentError("a distance is 0 km or more", 2)
            return GeoCircle(lat, lon, km) if km < _HALFWAY_KM else EVERYWHERE
        south, west, north, east = _numbers(arguments, 4, f"{WITHIN}(place, SOUTH, WEST, NORTH, EAST)")
        _check_position(south, west, 0)
        _check_position(north, east, 2)
        if south > north:
            raise ArgumentError("the south of a box is not greater than its north; change them over", 0)
        return GeoBox(south, west, north, east)

    def printed(self, content: Area) -> Call:
        """Write the call."""
        if isinstance(content, GeoCircle):
            return NEAR, (content.lat, content.lon, content.km)
        return WITHIN, (content.south, content.west, content.north, content.east)

    def read(self, value: Value) -> Position | None:
        """Read a map with a latitude and a longitude."""
        if not isinstance(value, dict):
            return None
        lat, lon = value.get("lat"), value.get("lon")
        if is_number(lat) and is_number(lon) and -90 <= lat <= 90 and -180 <= lon <= 180:  # noqa: PLR2004 - degrees
            return float(lat), float(lon)
        return None

    def match(self, content: Area, subject: Position) -> bool:
        """Return whether the place is in the area."""
        if isinstance(content, GeoCircle):
            return round(distance_km(content.centre, subject), _MILLIMETRE) <= content.km
        lat, lon = subject
        return content.south <= lat <= content.north and any(
            west <= lon <= east for west, east in content.longitudes
        )

    def covers(self, one: Area, other: Area) -> bool:
        """Compare two areas."""
        if one in {other, EVERYWHERE}:
            return True
        match one, other:
            case GeoBox(), GeoBox():
                return _box_covers(one, other)
            case GeoBox(), GeoCircle():
                return _box_covers(one, _around(other, MARGIN_KM))
            case GeoCircle(), GeoCircle():
                return distance_km(one.centre, other.centre) + other.km + MARGIN_KM <= one.km
            case GeoCircle(), GeoBox():
                return _circle_covers(one, other)
        raise AssertionError(one, other)

    def overlaps(self, one: Area, other: Area) -> bool:
        """Compare two areas."""
        match one, other:
            case GeoBox(), GeoBox():
                return _box_overlaps(one, other)
            case GeoCircle(), GeoCircle():
                return distance_km(one.centre, other.centre) <= one.km + other.km + MARGIN_KM
            case GeoBox(), GeoCircle():
                return self.overlaps(other, one)
            case GeoCircle(), GeoBox():
                return _distance_to_box_km(one.centre, other) <= one.km + MARGIN_KM
        raise AssertionError(one, other)

    def intersect(self, one: Area, other: Area) -> Area | None:
        """Return the box of both, if it is one."""
        if not isinstance(one, GeoBox) or not isinstance(other, GeoBox):
            return None
        south, north = max(one.south, other.south), min(one.north, other.north)
        pieces = sorted(
            (max(mine[0], theirs[0]), min(mine[1], theirs[1]))
            for mine in one.longitudes
            for theirs in other.longitudes
            if mine[0] <= theirs[1] and theirs[0] <= mine[1]
        )
        match pieces:
            case [(west, east)]:
                return GeoBox(south, west, north, east)
            case [(-180.0, east), (west, 180.0)]:
                return GeoBox(south, west, north, east)
        return None

    def merge(self, one: Area, other: Area) -> Area | None:
        """Return the box of both where they lie side by side."""
        if not isinstance(one, GeoBox) or not isinstance(other, GeoBox):
            return None
        if (one.west, one.east) == (other.west, other.east) and _touch(one.latitudes, other.latitudes):
            return GeoBox(min(one.south, other.south), one.west, max(one.north, other.north), one.east)
        if one.latitudes != other.latitudes or one.west > one.east or other.west > other.east:
            return None
        if not _touch((one.west, one.east), (other.west, other.east)):
            return None
        return GeoBox(one.south, min(one.west, other.west), one.north, max(one.east, other.east))

    def cells(self, content: Area) -> Iterable[Hashable]:
        """Return the cells that the box around it touches, which are no smaller than it is."""
        box = _around(content, MARGIN_KM) if isinstance(content, GeoCircle) else content
        found: dict[Hashable, None] = {}
        for west, east in box.longitudes:
            extent = max(box.north - box.south, east - west)
            size = next(each for each in _SIZES if each >= extent)
            for lat in box.latitudes:
                found |= dict.fromkeys((size, floor(lat / size), floor(lon / size)) for lon in (west, east))
        return found

    def cells_of(self, subject: Position) -> Iterable[Hashable]:
        """Return the cell of each size in which the place lies."""
        lat, lon = subject
        return [(size, floor(lat / size), floor(lon / size)) for size in _SIZES]

    def examples(self, content: Area) -> Iterator[Value]:
        """Yield the centre of a circle, or the corners of a box."""
        for lat, lon in [content.centre] if isinstance(content, GeoCircle) else content.corners:
            yield {"lat": lat, "lon": lon}


PLACES: Final = Places()


def distance_km(one: Position, other: Position) -> float:
    """Return how far two places are apart, over the surface of a sphere."""
    (lat, lon), (other_lat, other_lon) = ((radians(each[0]), radians(each[1])) for each in (one, other))
    north, east = sin((other_lat - lat) / 2), sin((other_lon - lon) / 2)
    chord = hypot(north, east * (cos(lat) * cos(other_lat)) ** 0.5)
    return 2 * RADIUS_KM * asin(min(1.0, chord))


def _numbers(arguments: Sequence[Scalar], count: int, call: str) -> list[float]:
    if len(arguments) != count:
        raise ArgumentError(f"it takes {count} numbers; write {call}")
    found: list[float] = []
    for at, each in enumerate(arguments):
        if not is_number(each):
            raise ArgumentError(f"this must be a number; write {call}", at)
        found.append(float(each) + 0.0)  # Minus zero is written as zero.
    return found


def _check_position(lat: float, lon: float, at: int) -> None:
    if not -90 <= lat <= 90:  # noqa: PLR2004 - degrees
        raise ArgumentError("a latitude is from -90 to 90 degrees", at)
    if not -180 <= lon <= 180:  # noqa: PLR2004 - likewise
        raise ArgumentError("a longitude is from -180 to 180 degrees", at + 1)


def _touch(one: Interval, other: Interval) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]


def _inside(one: Interval, other: Interval) -> bool:
    return other[0] <= one[0] and one[1] <= other[1]


def _box_covers(one: GeoBox, other: GeoBox) -> bool:
    return _inside(other.latitudes, one.latitudes) and all(
        any(_inside(theirs, mine) for mine in one.longitudes) for theirs in other.longitudes
    )


def _box_overlaps(one: GeoBox, other: GeoBox) -> bool:
    return _touch(one.latitudes, other.latitudes) and any(
        _touch(mine, theirs) for mine in one.longitudes for theirs in other.longitudes
    )


def _circle_covers(circle: GeoCircle, box: GeoBox) -> bool:
    """Return whether all corners are in the circle, and nothing between them is farther away."""
    opposite = circle.lon - 180 if circle.lon > 0 else circle.lon + 180
    if circle.km > _HEMISPHERE_KM or any(west <= opposite <= east for west, east in box.longitudes):
        return False
    return all(distance_km(circle.centre, each) + MARGIN_KM <= circle.km for each in box.corners)


def _around(circle: GeoCircle, margin_km: float) -> GeoBox:
    """Return a box that holds the circle, and a little more."""
    angle = (circle.km + margin_km) / RADIUS_KM
    south, north = circle.lat - degrees(angle), circle.lat + degrees(angle)
    if south <= -90 or north >= 90:  # noqa: PLR2004 - a pole
        return GeoBox(max(south, -90.0), -180.0, min(north, 90.0), 180.0)
    reach = degrees(asin(min(1.0, sin(angle) / cos(radians(circle.lat)))))
    west, east = circle.lon - reach, circle.lon + reach
    return GeoBox(
        south,
        west + 360 if west < -180 else west,  # noqa: PLR2004 - beyond the antimeridian
        north,
        east - 360 if east > 180 else east,  # noqa: PLR2004 - likewise
    )


def _distance_to_box_km(place: Position, box: GeoBox) -> float:
    """Return how far it is to the nearest place of a box."""
    lat, lon = place
    if any(west <= lon <= east for west, east in box.longitudes):
        return distance_km(place, (min(max(lat, box.south), box.north), lon))
    return min(_distance_to_edge_km(place, edge, box.latitudes) for edge in (box.west, box.east))


def _distance_to_edge_km(place: Position, lon: float, latitudes: Interval) -> float:
    """Return how far it is to the nearest place of a meridian between two latitudes."""
    south, north = latitudes
    lat = radians(place[0])
    nearest = degrees(atan2(sin(lat), cos(lat) * cos(radians(lon - place[1]))))
    return min(distance_km(place, (each, lon)) for each in (south, north, min(max(nearest, south), north)))
