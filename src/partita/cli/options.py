"""Types of options that several commands share."""

from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

Port = Annotated[int, Parameter(validator=Number(gte=0, lte=65535))]
Scale = Annotated[float, Parameter(validator=Number(gt=0, lte=10_000))]
Flag = Annotated[bool, Parameter(negative=(), show_default=False)]  # false unless it is given
