"""Whether a client takes a reply that is zipped (RFC 9110, 12.5.3)."""


def takes_gzip(accept_encoding: bytes) -> bool:
    """Whether gzip is named, and not in order to refuse it.

    >>> takes_gzip(b"br, gzip;q=0.5"), takes_gzip(b"gzip;q=0"), takes_gzip(b"identity")
    (True, False, False)
    """
    for each in accept_encoding.lower().split(b","):
        name, _, weight = each.partition(b";")
        if name.strip() == b"gzip":
            return not _is_nothing(weight.strip())
    return False


def _is_nothing(weight: bytes) -> bool:
    """`q=0`, with as many zeros as one likes."""
    name, _, number = weight.partition(b"=")
    return name.strip() == b"q" and bool(number.strip()) and not number.strip().strip(b"0.")
