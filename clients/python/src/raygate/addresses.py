"""Hosts."""

from __future__ import annotations

import ipaddress


def is_loopback(host: str) -> bool:
    """Return whether nothing that is sent to a host leaves this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
