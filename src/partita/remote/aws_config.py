"""AWS settings of this machine that decide where requests go: the environment, then the profile in the config files.

The names and their order are botocore's. botocore itself is imported only where there is a config file to read, since
its import takes longer than everything else up to the first reply.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from partita.errors import ConfigurationError
from partita.extras import needs

_FILES = {"AWS_CONFIG_FILE": "~/.aws/config", "AWS_SHARED_CREDENTIALS_FILE": "~/.aws/credentials"}
_PROFILES = ("AWS_DEFAULT_PROFILE", "AWS_PROFILE")


@dataclass(frozen=True, slots=True)
class AwsConfig:
    """Where requests go by default; `endpoint_url` replaces Amazon's own endpoint."""

    region: str | None = None
    endpoint_url: str | None = None
    fips: bool = False
    dual_stack: bool = False


def load_aws_config(environ: Mapping[str, str] = os.environ) -> AwsConfig:
    """Reads the settings; raises `ConfigurationError` for a broken file or a profile that is not in one."""
    profile, services = _read_files(environ)

    def setting(variable: str, name: str) -> Any:
        return environ.get(variable) or profile.get(name)

    endpoint_url = (
        environ.get("AWS_ENDPOINT_URL_DYNAMODB")
        or environ.get("AWS_ENDPOINT_URL")
        or services.get("endpoint_url")
        or profile.get("endpoint_url")
    )
    if _is_true(setting("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "ignore_configured_endpoint_urls")):
        endpoint_url = None
    return AwsConfig(
        region=setting("AWS_DEFAULT_REGION", "region"),
        endpoint_url=endpoint_url,
        fips=_is_true(setting("AWS_USE_FIPS_ENDPOINT", "use_fips_endpoint")),
        dual_stack=_is_true(setting("AWS_USE_DUALSTACK_ENDPOINT", "use_dualstack_endpoint")),
    )


def botocore_session() -> Any:
    """A new botocore session; raises `MissingExtra` where botocore is not installed."""
    with needs("reading AWS profiles and roles", "aws"):
        import botocore.session
    return botocore.session.get_session()


def _read_files(environ: Mapping[str, str]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The settings of the profile, and those of its services section for DynamoDB."""
    files = [Path(environ.get(variable, default)).expanduser() for variable, default in _FILES.items()]
    if not any(file.is_file() for file in files) and not any(environ.get(name) for name in _PROFILES):
        return {}, {}
    session = botocore_session()
    from botocore.exceptions import BotoCoreError

    try:
        profile = session.get_scoped_config()
        sections = session.full_config.get("services", {})
    except BotoCoreError as error:
        raise ConfigurationError(f"AWS configuration: {error}") from error
    name = profile.get("services")
    if name is not None and name not in sections:
        raise ConfigurationError(f"AWS configuration: the profile names services = {name}; add [services {name}]")
    return profile, sections.get(name, {}).get("dynamodb", {})


def _is_true(value: Any) -> bool:
    return str(value).lower() == "true"
