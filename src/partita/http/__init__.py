"""HTTP parts that the protocol server and the REST API share: ASGI types, bodies, compression, CORS."""
