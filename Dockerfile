# `partita engine` and `partita serve` in a container: docs/guide/container.md.

FROM python:3.11.13-slim-bookworm AS build
WORKDIR /build
COPY requirements/build.txt requirements/runtime.txt requirements/
RUN python -m venv /opt/partita \
    && /opt/partita/bin/pip install --no-cache-dir --require-hashes -r requirements/build.txt -r requirements/runtime.txt
COPY pyproject.toml README.md LICENSE ./
COPY src src
COPY systems systems
RUN /opt/partita/bin/pip install --no-cache-dir --no-deps --no-build-isolation . ./systems

FROM python:3.11.13-slim-bookworm
RUN useradd --system --uid 10001 --create-home --home-dir /data partita && mkdir /app
COPY --from=build /opt/partita /opt/partita
ENV PATH=/opt/partita/bin:$PATH PYTHONUNBUFFERED=1
USER partita
# Modules of your own are imported from here: partita serve my.app:api
WORKDIR /app
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health', timeout=2)"]
ENTRYPOINT ["python", "-m", "partita.cli.container"]
CMD ["engine"]
