"""What an address says of who can reach it."""

import ipaddress


def is_loopback(host: str) -> bool:
    """Whether nobody beyond this machine can be there."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
