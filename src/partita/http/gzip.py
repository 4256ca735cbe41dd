"""Whether a client accepts a gzip response (RFC 9110, 12.5.3)."""


def accepts_gzip(accept_encoding: bytes) -> bool:
    """Whether an Accept-Encoding header allows gzip.

    >>> accepts_gzip(b"br, gzip;q=0.5"), accepts_gzip(b"gzip;q=0"), accepts_gzip(b"identity")
    (True, False, False)
    """
    for each in accept_encoding.lower().split(b","):
        name, _, weight = each.partition(b";")
        if name.strip() == b"gzip":
            return not _is_zero(weight.strip())
    return False


def _is_zero(weight: bytes) -> bool:
    """Whether a weight is `q=0`, `q=0.0`, ..."""
    name, _, number = weight.partition(b"=")
    return name.strip() == b"q" and bool(number.strip()) and not number.strip().strip(b"0.")
