"""What can be wrong in the objects of an import or a bulk put."""


class UnreadableObject(Exception):
    """An object that cannot be read further: where the next record begins is unknown."""


class InvalidRecord(Exception):
    """A record that is not one item; the next one can be read."""
