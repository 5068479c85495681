# docker build -t uegr . && docker run --rm -v "$PWD/runs:/app/runs" uegr
FROM python:3.11-slim

RUN useradd --create-home --uid 1000 uegr
WORKDIR /app
RUN chown uegr:uegr /app

# torch first, by its exact version, as in the Makefile
COPY constraints.txt /tmp/build/
RUN pip install --no-cache-dir --constraint /tmp/build/constraints.txt torch==2.13.0

COPY pyproject.toml hatch_build.py README.md LICENSE /tmp/build/
COPY src /tmp/build/src
COPY benchmarks /tmp/build/benchmarks
COPY results /tmp/build/results
RUN pip install --no-cache-dir --constraint /tmp/build/constraints.txt /tmp/build

USER 1000
# the encoder and the texts of the demo come from registry packages, on the first run
CMD ["uegr", "demo", "--output", "runs/demo"]
