"""On which data sets and models methods are ranked: those that they share, since means over others do not compare."""

from collections.abc import Mapping, Sequence

from uegr.report.groups import Block, Group, any_compared


def field(places: Mapping[str, frozenset[Block]]) -> frozenset[Block]:
    """Of what one or two methods were compared on: where methods times data sets and models is greatest.

    Of equals, that with more methods.

    >>> places = {"fgm": "abc", "rat": "ab", "uegr": "ab", "sam": "b"}
    >>> sorted(field({method: frozenset((one, "minilm") for one in some) for method, some in places.items()}))
    [('a', 'minilm'), ('b', 'minilm')]
    """
    found = {one & other for one in places.values() for other in places.values()} - {frozenset()}

    def worth(some: frozenset[Block]) -> tuple[int, int]:
        methods = sum(some <= one for one in places.values())
        return methods * len(some), methods

    return max(sorted(found, key=sorted), key=worth, default=frozenset())


def whole(groups: Sequence[Group], keys: Sequence[str]) -> list[Group]:
    """The settings of which all columns were compared; all where there are none."""
    return [group for group in groups if all(any_compared([group], [key]) for key in keys)] or list(groups)


def alone(groups: Sequence[Group]) -> list[Group]:
    """Those that differ from their baseline by the method alone; all where there are none."""
    return [group for group in groups if not group.unlike_baseline] or list(groups)


def inside(groups: Sequence[Group], shared: frozenset[Block]) -> list[Group]:
    """The settings on the shared data sets and models; all where there are none."""
    return [group for group in groups if group.block in shared] or list(groups)
