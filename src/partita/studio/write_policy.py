"""Whether the studio may write: in memory and on loopback endpoints by default, elsewhere where it is asked for."""

from urllib.parse import urlsplit

import msgspec

from partita.http.hosts import is_loopback

AMAZON = "dynamodb://"


class DataPlace(msgspec.Struct, frozen=True):
    """Where the data is, as every page shows it."""

    address: str
    account: str = ""
    """The AWS account, where the data is on Amazon."""
    endpoint: str = ""
    """Where DynamoDB's protocol answers for the same data."""
    writable: bool = False

    @property
    def is_amazon(self) -> bool:
        return self.address.startswith(AMAZON)


def writes_by_default(address: str) -> bool:
    """Whether data at this address may be written to without being asked for.

    >>> [writes_by_default(each) for each in ("memory:", "http://127.0.0.1:8000", "shop.db", "dynamodb://eu-west-1")]
    [True, True, False, False]
    """
    if address == "memory:":
        return True
    return address.startswith(("http://", "https://")) and is_loopback(urlsplit(address).hostname or "")


def account_of(table_arn: str) -> str:
    """The account in the ARN of a table.

    >>> account_of("arn:aws:dynamodb:eu-west-1:123456789012:table/shop")
    '123456789012'
    """
    parts = table_arn.split(":")
    return parts[4] if len(parts) > 5 else ""


def read_only_advice(place: DataPlace) -> str:
    """Why the studio does not write, and the option with which it does."""
    return f"The studio opened {place.address} read-only. Start it with --write to change data."
