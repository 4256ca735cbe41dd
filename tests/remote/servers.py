"""Servers that fail in a chosen way."""

import datetime as dt
import ipaddress
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.timing import PATIENCE


@dataclass
class Scripted:
    """A server on loopback; `heard` has the requests that reached it."""

    port: int
    heard: list[bytes] = field(default_factory=list)

    @property
    def http(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def https(self) -> str:
        return f"https://127.0.0.1:{self.port}"


def http_reply(body: bytes, *, status: str = "200 OK", headers: str = "") -> bytes:
    """Returns a complete HTTP reply."""
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode() + body


@contextmanager
def answering(reply: bytes, tls: ssl.SSLContext | None = None) -> Iterator[Scripted]:
    """Reads one request of each connection and sends `reply`."""
    over = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))
    server = Scripted(listener.getsockname()[1])

    def serve() -> None:
        while True:
            connection, _ = listener.accept()
            with connection:
                if over.is_set():
                    return
                connection.settimeout(PATIENCE)
                try:
                    _converse(connection, tls, reply, server.heard)
                except OSError:
                    continue  # a client that does not trust the certificate closes the connection

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield server
    finally:
        over.set()
        socket.create_connection(("127.0.0.1", server.port)).close()
        thread.join()
        listener.close()


def _converse(plain: socket.socket, tls: ssl.SSLContext | None, reply: bytes, heard: list[bytes]) -> None:
    connection = plain if tls is None else tls.wrap_socket(plain, server_side=True)
    heard.append(_whole_request(connection))
    connection.sendall(reply)
    if tls is not None:
        connection.close()


def _whole_request(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        data += _some(connection)
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    length = int(lengths[0].partition(b":")[2]) if lengths else 0
    while len(body) < length:
        body += _some(connection)
    return head + b"\r\n\r\n" + body


def _some(connection: socket.socket) -> bytes:
    data = connection.recv(65536)
    if not data:
        raise ConnectionError("the client left")
    return data


@contextmanager
def answering_until_silent(reply: bytes) -> Iterator[tuple[Scripted, threading.Event]]:
    """Answers every request of a connection, one connection at a time; only reads it once the event is set."""
    silent, over = threading.Event(), threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))
    server = Scripted(listener.getsockname()[1])

    def serve() -> None:
        while True:
            connection, _ = listener.accept()
            with connection:
                while not over.is_set():
                    try:
                        server.heard.append(_whole_request(connection))
                        if silent.is_set():
                            over.wait(PATIENCE)
                        else:
                            connection.sendall(reply)
                    except OSError:
                        break  # the client has gone
                if over.is_set():
                    return

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield server, silent
    finally:
        over.set()
        socket.create_connection(("127.0.0.1", server.port)).close()
        thread.join()
        listener.close()


@contextmanager
def deaf() -> Iterator[Scripted]:
    """A port with a full queue of new connections: a further one is neither accepted nor refused."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        waiting = [socket.socket() for _ in range(4)]
        try:
            for each in waiting:
                each.setblocking(False)
                each.connect_ex(("127.0.0.1", port))
            yield Scripted(port)
        finally:
            for each in waiting:
                each.close()


def own_certificate(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """Returns the TLS context of a server at 127.0.0.1, and the file of its self-signed certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "partita test")])
    today = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(today - dt.timedelta(days=1))
        .not_valid_after(today + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    certificate_file, key_file = folder / "certificate.pem", folder / "key.pem"
    certificate_file.write_bytes(certificate.public_bytes(pem))
    plain = serialization.NoEncryption()
    key_file.write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate_file, key_file)
    return context, certificate_file
