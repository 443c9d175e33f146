# The operator image: `docker build .`, or `podman build .`, or `buildah build .`.
#
# BASE is Debian with a python3 of the version that the wheels are for, and pip. A release pins it
# by its digest: .github/workflows/release.yaml reads the digest, builds with it and records it in
# the labels. Nothing here depends on the architecture.
#
# Without a network give the dependencies as a context, and the first stage is left out:
#
#   pip install --require-hashes --no-deps --only-binary :all: --target wheels/app/site \
#       --requirement requirements/image.txt
#   docker build --build-context dependencies=wheels .
ARG BASE=python:3.11-slim

FROM ${BASE} AS dependencies
COPY requirements/image.txt /tmp/image.txt
RUN python3 -m pip install --no-cache-dir --disable-pip-version-check --no-compile --no-deps \
    --require-hashes --only-binary :all: --target /app/site --requirement /tmp/image.txt

# Python, the libraries that it and the wheels load, and certificates: no shell, no package manager.
FROM ${BASE} AS root
COPY --from=dependencies /app/site /app/site
COPY release/minimal_root.py /tmp/minimal_root.py
RUN python3 /tmp/minimal_root.py /root-file-system /app/site

FROM scratch
COPY --from=root /root-file-system /
ENV PATH=/usr/local/bin:/usr/bin

# Dependencies first: they change seldom, so this layer is nearly always taken from the cache.
# Bytecode belongs into the image: its root file system is read-only when it runs, and compiling
# at every start would cost seconds. unchecked-hash, because file times do not survive the copy.
COPY --from=dependencies /app/site /app/site
RUN ["python3", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", "/app/site"]

COPY runtime /app/code/runtime
COPY contracts /app/code/contracts
COPY managers /app/code/managers
COPY baoctl /app/code/baoctl
RUN ["python3", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", "/app/code"]

ENV PYTHONPATH=/app/code:/app/site PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 65532:65532

# All that a pod ever imports, compiled modules of each wheel among it: a wheel for another Python or
# another architecture fails here and not in a cluster.
RUN ["python3", "-c", "import baoctl.process.run, baoctl.process.provisioner, baoctl.jobs.main, \
    baoctl.jobs.upgrade.main, managers.images.keyless, obstore, sigstore.verify"]

# What changes with each release stands last.
ARG BASE
ARG VERSION=dev
ARG REVISION=
ARG SOURCE=
LABEL org.opencontainers.image.title="openbao-operator" \
      org.opencontainers.image.description="Runs OpenBao clusters on Kubernetes" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.source="${SOURCE}" \
      org.opencontainers.image.base.name="${BASE}"
ENTRYPOINT ["python3", "-m", "baoctl"]
