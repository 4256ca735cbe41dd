"""AWS settings of the machine: our reading of them compared with botocore's."""

import subprocess
import sys
from pathlib import Path

import botocore.session
import pytest

from partita.errors import ConfigurationError
from partita.remote.aws_config import AwsConfig, load_aws_config
from partita.remote.settings import RemoteSettings

pytestmark = pytest.mark.slow


CONFIG = """
[default]
region = eu-west-3

[profile work]
region = ap-south-1
use_fips_endpoint = true

[profile dual]
region = ap-south-1
use_dualstack_endpoint = True

[profile local]
region = eu-central-1
endpoint_url = http://127.0.0.1:8001

[profile services]
region = eu-central-1
endpoint_url = http://127.0.0.1:8001
services = development

[services development]
s3 =
  endpoint_url = http://127.0.0.1:8002
dynamodb =
  endpoint_url = http://127.0.0.1:8003

[profile incomplete]
region = eu-central-1
services = absent
"""


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No settings of this machine, and a config file."""
    for name in ("AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "config").write_text(CONFIG)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "absent"))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"AWS_DEFAULT_REGION": "eu-north-1"},
        {"AWS_PROFILE": "work"},
        {"AWS_PROFILE": "work", "AWS_USE_FIPS_ENDPOINT": "false"},
        {"AWS_PROFILE": "dual"},
        {"AWS_DEFAULT_PROFILE": "dual", "AWS_PROFILE": "work"},
        {"AWS_PROFILE": "local"},
        {"AWS_PROFILE": "local", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"},
        {"AWS_PROFILE": "local", "AWS_ENDPOINT_URL": "http://127.0.0.1:9000"},
        {"AWS_PROFILE": "services"},
        {"AWS_PROFILE": "services", "AWS_ENDPOINT_URL": "http://127.0.0.1:9000"},
        {"AWS_ENDPOINT_URL": "http://127.0.0.1:9000", "AWS_ENDPOINT_URL_DYNAMODB": "http://127.0.0.1:9001"},
        {"AWS_USE_FIPS_ENDPOINT": "true", "AWS_USE_DUALSTACK_ENDPOINT": "TRUE"},
    ],
    ids=str,
)
def test_endpoint_is_the_one_of_a_botocore_client(variables: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    client = botocore.session.get_session().create_client("dynamodb")
    endpoint = RemoteSettings().endpoint("dynamodb://")
    assert (endpoint.url, endpoint.region) == (client.meta.endpoint_url, client.meta.region_name)


def test_region_of_the_address_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:8000")
    endpoint = RemoteSettings().endpoint("dynamodb://eu-west-1")
    assert (endpoint.url, endpoint.region) == ("http://127.0.0.1:8000", "eu-west-1")


def test_region_may_be_in_the_credentials_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "credentials").write_text("[default]\nregion = sa-east-1\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", "absent")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    assert load_aws_config() == AwsConfig(region="sa-east-1")


def test_missing_region_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_CONFIG_FILE", "absent")
    with pytest.raises(ConfigurationError) as raised:
        RemoteSettings().endpoint("dynamodb://")
    assert str(raised.value) == "dynamodb:// has no region and none is configured; use dynamodb://eu-west-1"


def test_unknown_profile_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(ConfigurationError, match=r"AWS configuration: .*nobody"):
        load_aws_config()


def test_unknown_services_section_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "incomplete")
    with pytest.raises(ConfigurationError, match=r"services = absent; add \[services absent\]"):
        load_aws_config()


def test_connecting_with_keys_and_region_in_the_environment_imports_no_botocore(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_CONFIG_FILE", "absent")
    script = (
        "import sys\nfrom partita import connect\nconnect('dynamodb://eu-west-1').close()\n"
        "print([name for name in sys.modules if name.startswith('botocore')])"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
