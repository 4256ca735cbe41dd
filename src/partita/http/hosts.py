"""Host names: which are of this machine only."""

import ipaddress


def is_loopback(host: str) -> bool:
    """Whether a host name or IP address is reachable from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
