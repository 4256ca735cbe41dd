"""Types of options that several commands share."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number

Port = Annotated[int, Parameter(validator=Number(gte=0, lte=65535))]
Scale = Annotated[float, Parameter(validator=Number(gt=0, lte=10_000))]
Workers = Annotated[int, Parameter(validator=Number(gte=1, lte=256))]
Flag = Annotated[bool, Parameter(negative=(), show_default=False)]  # false unless it is given
Address = Annotated[str, Parameter(metavar="ADDRESS")]


def _split(_: Any, text: str, delimiter: str | None = None) -> list[str]:
    """The values of an environment variable; cyclopts gives more than is needed."""
    return [each.strip() for each in text.split(",") if each.strip()]


BucketsFolder = Annotated[Path | None, Parameter(env_var="PARTITA_BUCKETS")]
CredentialsFile = Annotated[Path | None, Parameter(env_var="PARTITA_CREDENTIALS")]
Hosts = Annotated[
    Sequence[str],
    Parameter(
        name="--allow-host",
        negative=(),
        metavar="NAME...",
        show_default=False,
        env_var="PARTITA_ALLOWED_HOSTS",
        env_var_split=_split,
    ),
]
Origins = Annotated[
    Sequence[str],
    Parameter(
        name="--allow-origin",
        negative=(),
        metavar="ORIGIN...",
        show_default=False,
        env_var="PARTITA_ALLOWED_ORIGINS",
        env_var_split=_split,
    ),
]
