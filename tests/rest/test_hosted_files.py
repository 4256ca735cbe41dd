"""Files that an API publishes: where they are found, and that their hosts serve nothing else."""

import asyncio
import http.client
from collections.abc import Iterator
from pathlib import Path

import pytest

from partita import ConfigurationError, Store, connect
from partita.errors import DesignError
from partita.http.file_addresses import FileAddress, FileAddresses
from partita.http.sources import AllowedSources
from partita.rest import Api, HostedFile, RestApplication
from partita.rest.auth.dev_issuer import LocalIssuer
from tests.peers import started
from tests.rest import library_api
from tests.rest.client import Client
from tests.rest.test_serve import PARTITA

ADDRESSES = FileAddresses({"/sites": ["city.example", "localhost"], "/downloads": []})


@pytest.mark.parametrize(
    ("host", "path", "found"),
    [
        (b"test", b"/sites/ana/", FileAddress("/sites", "ana", "", is_host=False)),
        (b"test", b"/sites/ana/a/b.html", FileAddress("/sites", "ana", "a/b.html", is_host=False)),
        (b"test", b"/sites/%EB%B4%84/x", FileAddress("/sites", "봄", "x", is_host=False)),
        (b"test", b"/sites/ana/%2e%2e/x", FileAddress("/sites", "ana", "../x", is_host=False)),
        (b"test", b"/sites/ana/a%2fb", FileAddress("/sites", "ana", None, is_host=False)),
        (b"test", b"/sites/ana/%ff", FileAddress("/sites", "ana", None, is_host=False)),
        (b"test", b"/sites", None),
        (b"test", b"/sitesx/ana", None),
        (b"test", b"/api/library", None),
        (b"city.example", b"/", None),
        (b"localhost:8000", b"/api", None),
        (b"notcity.example", b"/x", None),
        (b"ana.city.example", b"/", FileAddress("/sites", "ana", "", is_host=True)),
        (b"ANA.City.Example.:80", b"/api/library", FileAddress("/sites", "ana", "api/library", is_host=True)),
        (b"a.b.localhost:1", b"/x", FileAddress("/sites", "a.b", "x", is_host=True)),
        (b"ana.localhost@evil", b"/x", None),
    ],
)
def test_address_of_a_request(host: bytes, path: bytes, found: FileAddress | None) -> None:
    assert ADDRESSES.find([(b"host", host)], path) == found
    assert ADDRESSES.is_file_host(host) == (found is not None and found.is_host)


def test_hosts_of_files_are_allowed_and_never_take_the_fast_path() -> None:
    sources = AllowedSources(files=ADDRESSES)
    for host in (b"ana.city.example", b"ana.localhost:8000"):
        assert sources.rejection([(b"host", host), (b"origin", b"null")]) is None
        assert not sources.allows_without_origin({b"host": host})
    assert sources.rejection([(b"host", b"city.example")]) is not None
    assert sources.allows_without_origin({b"host": b"localhost:8000"})
    without = AllowedSources()
    assert without.allows_without_origin({b"host": b"ana.localhost:8000"})
    assert without.rejection([(b"host", b"ana.city.example")]) is not None


def test_a_page_without_an_origin_may_not_send_requests_to_the_api() -> None:
    rejected = AllowedSources(files=ADDRESSES).rejection([(b"host", b"localhost:8000"), (b"origin", b"null")])
    assert rejected is not None
    assert rejected.status == 403


def an_api(*places: str) -> Api[Store]:
    api = Api("library", "Library", library_api.design)

    def find(service: Store, name: str, path: str) -> HostedFile | None:
        if name == "broken":
            raise OSError("the disk is gone")
        return HostedFile(f"{name} {path}".encode(), "text/plain", "1") if name == "ana" else None

    for place in places:
        api.files(place, domains=["city.example"] if place == "/sites" else [])(find)
    return api


@pytest.fixture
def client() -> Iterator[Client]:
    issuer = LocalIssuer()
    with connect("memory:", library_api.design) as db, asyncio.Runner() as runner:
        db.create_tables()
        app = RestApplication([an_api("/sites", "/files")], db, verifier=issuer.verifier())
        yield Client(app, "", issuer, runner.get_loop())


def test_a_file_is_found_by_its_place_and_name(client: Client) -> None:
    assert client.get("/sites/ana/").body == b"ana index.html"
    assert client.get("/sites/ana/a/").body == b"ana a/index.html"
    assert client.get("/files/ana/a.txt").body == b"ana a.txt"
    assert client.get("/x", host="ana.city.example").body == b"ana x"
    assert client.get("/sites/ben/").status == 404


def test_an_error_of_the_service_is_a_response_without_its_words(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    reply = client.get("/sites/broken/")
    assert (reply.status, reply.json["title"]) == (500, "Internal Server Error")
    assert b"disk" not in reply.body
    assert "the disk is gone" in caplog.text


@pytest.mark.parametrize("path", ["", "/", "sites", "/a/b", "/api", "/metrics"])
def test_a_place_has_one_name_of_its_own(path: str) -> None:
    with pytest.raises(DesignError, match="below one name of their own"):
        an_api(path)


def test_two_apis_cannot_share_a_place_or_a_domain() -> None:
    with connect("memory:", library_api.design) as db, pytest.raises(ConfigurationError, match="two APIs publish"):
        RestApplication([an_api("/sites", "/sites")], db)


@pytest.mark.slow
def test_the_host_of_a_site_has_no_api_and_no_dynamodb(tmp_path: Path) -> None:
    command: list[str | Path] = [PARTITA, "serve", "nbhd", "--on", tmp_path / "nbhd.db", "--scale", "0.05"]
    with started(lambda port: [*command, "--port", str(port)]) as running:
        port = int(running.endpoint.rpartition(":")[2])
        connection = http.client.HTTPConnection("127.0.0.1", port)

        def status(method: str, path: str, host: str, **headers: str) -> int:
            sent = {"Host": f"{host}:{port}"} | {key.replace("_", "-"): text for key, text in headers.items()}
            connection.request(method, path, "{}" if method == "POST" else None, sent)
            reply = connection.getresponse()
            reply.read()
            return reply.status

        tables = {"X_Amz_Target": "DynamoDB_20120810.ListTables"}
        assert status("GET", "/api/nbhd/templates", "localhost") == 200
        assert status("POST", "/", "localhost", **tables) == 200
        for host in ("someone.localhost", "someone.nbhd.city"):
            assert status("GET", "/api/nbhd/templates", host) == 404
            assert status("GET", "/metrics", host) == 404
            assert status("POST", "/", host, **tables) == 405
        assert status("GET", "/", "nbhd.city") == 421
        connection.close()
