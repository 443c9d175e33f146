# The operator image: `docker build .`, or `podman build .`, or `buildah build .`.
#
# BASE is Debian with pip and the python3 version of the wheels. A release pins it by its digest:
# .github/workflows/release.yaml reads the digest, builds with it and records it in the labels.
# Nothing here depends on the architecture.
#
# To build without a network, pass the dependencies as a context, which replaces the first stage:
#
#   pip install --require-hashes --no-deps --only-binary :all: --target wheels/app/site \
#       --requirement requirements/image.txt
#   docker build --build-context dependencies=wheels .
ARG BASE=python:3.11-slim

FROM ${BASE} AS dependencies
COPY requirements/image.txt /tmp/image.txt
RUN python3 -m pip install --no-cache-dir --disable-pip-version-check --no-compile --no-deps \
    --require-hashes --only-binary :all: --target /app/site --requirement /tmp/image.txt

# The image contains Python, the libraries that Python and the wheels load, and certificates. It has
# no shell and no package manager.
FROM ${BASE} AS root
COPY --from=dependencies /app/site /app/site
COPY release/minimal_root.py /tmp/minimal_root.py
RUN python3 /tmp/minimal_root.py /root-file-system /app/site

FROM scratch
COPY --from=root /root-file-system /
ENV PATH=/usr/local/bin:/usr/bin

# Copy the dependencies first: they rarely change, so this layer is usually cached. The image has
# bytecode, because its root file system is read-only at run time, and compiling at every start
# would take seconds. unchecked-hash, because the copy does not preserve file times.
COPY --from=dependencies /app/site /app/site
RUN ["python3", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", "/app/site"]

COPY runtime /app/code/runtime
COPY contracts /app/code/contracts
COPY managers /app/code/managers
COPY baoctl /app/code/baoctl
RUN ["python3", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", "/app/code"]

ENV PYTHONPATH=/app/code:/app/site PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 65532:65532

# Import everything that a pod imports, with the compiled modules of each wheel: a wheel for another
# Python or architecture fails here and not in a cluster.
RUN ["python3", "-c", "import baoctl.process.run, baoctl.process.provisioner, baoctl.jobs.main, \
    baoctl.jobs.upgrade.main, managers.images.keyless, obstore, sigstore.verify"]

# The labels are last, because they change with each release.
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
