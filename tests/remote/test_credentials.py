"""Credentials: botocore's chain, renewal, and endpoints that need none."""

import asyncio
import datetime as dt
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from botocore.credentials import RefreshableCredentials

from partita import connect_async
from partita.dynamodb.requests import ListTables
from partita.errors import ConfigurationError
from partita.remote.credentials import UNSIGNED, CredentialChain, Credentials
from partita.remote.settings import RemoteSettings


@pytest.fixture(autouse=True)
def no_keys_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", "absent")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "absent")


def test_keys_are_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token")
    assert CredentialChain().current() == Credentials("key", "secret", "token")


def test_keys_are_read_from_a_profile(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    profiles = tmp_path / "credentials"
    profiles.write_text("[work]\naws_access_key_id = key\naws_secret_access_key = secret\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(profiles))
    monkeypatch.setenv("AWS_PROFILE", "work")
    assert CredentialChain().current() == Credentials("key", "secret")


def test_missing_keys_are_explained() -> None:
    with pytest.raises(ConfigurationError) as raised:
        CredentialChain().current()
    assert str(raised.value) == (
        "no AWS credentials in the environment, a profile, a container or an instance; set AWS_PROFILE or "
        "AWS_ACCESS_KEY_ID, or pass credentials"
    )


class Renewed:
    """Keys that botocore renews; they expire at once, so every read renews them."""

    def __init__(self) -> None:
        self.threads: list[str] = []

    def keys(self) -> dict[str, Any]:
        self.threads.append(threading.current_thread().name)
        soon = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=1)
        return {
            "access_key": f"key{len(self.threads)}",
            "secret_key": "secret",
            "token": "token",
            "expiry_time": soon.isoformat(),
        }

    def session(self) -> botocore.session.Session:
        session = botocore.session.Session()
        keys = RefreshableCredentials.create_from_metadata(self.keys(), self.keys, "test")
        session.get_component("credential_provider").load_credentials = lambda: keys
        return session


def test_expired_keys_are_renewed() -> None:
    chain = CredentialChain(Renewed().session())
    assert [chain.current().access_key for _ in range(3)] == ["key2", "key3", "key4"]


def test_event_loop_does_not_block_on_credentials(partita_engine: str) -> None:
    renewed = Renewed()

    async def talk() -> None:
        chain = CredentialChain(renewed.session())
        backend = await connect_async(partita_engine, credentials=chain)
        try:
            await backend.call(ListTables())
            await backend.call(ListTables())
        finally:
            await backend.close()

    asyncio.run(talk())
    assert len(renewed.threads) == 3
    assert "MainThread" not in renewed.threads[1:]


def test_plain_http_is_unsigned_and_https_uses_the_credential_chain() -> None:
    settings = RemoteSettings()
    assert settings.credential_source(settings.endpoint("http://localhost:8000")) is UNSIGNED
    assert isinstance(settings.credential_source(settings.endpoint("https://localhost")), CredentialChain)


@pytest.mark.parametrize(
    ("missing", "code", "message"),
    [
        (
            "botocore.session",
            "connect('dynamodb://eu-west-1')",
            "reading AWS profiles and roles needs an extra; run pip install 'partita[aws]' (botocore is missing)",
        ),
        (
            "urllib3",
            "connect('http://localhost:8000')",
            "an address over HTTP needs an extra; run pip install 'partita[remote]' (urllib3 is missing)",
        ),
        (
            "aiohttp",
            "asyncio.run(connect_async('http://localhost:8000'))",
            "HTTP on an event loop needs an extra; run pip install 'partita[async]' (aiohttp is missing)",
        ),
    ],
)
def test_missing_extra_is_named_in_the_error(missing: str, code: str, message: str) -> None:
    script = (
        f"import asyncio, sys; sys.modules[{missing!r}] = None\n"
        "from partita import connect, connect_async\n"
        f"try: {code}\nexcept Exception as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == message
