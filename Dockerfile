# The command line:
#   docker build --tag ilspace .
#   docker run --rm --volume "$PWD:/data" ilspace adapt source.csv target.csv --label class -o out
# Where no Docker is at hand, `make docker-steps` follows these steps in fresh environments.

FROM python:3.13-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir wheels .

FROM python:3.13-slim
WORKDIR /installed
COPY --from=build /source/wheels wheels
RUN python -m pip install --no-cache-dir "$(ls wheels/*.whl)[cli]" && rm -r wheels
# results belong to whoever runs it: docker run --user "$(id -u):$(id -g)" ...
USER 1000:1000
ENV HOME=/tmp
WORKDIR /data
ENTRYPOINT ["ilspace"]
CMD ["--help"]
