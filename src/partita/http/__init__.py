"""HTTP parts that the protocol server and the REST API share: bodies, compression, CORS, uvicorn."""
