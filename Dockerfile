# SPDX-License-Identifier: Apache-2.0
# Images of the program:         docker build -t dtrain .
#                                docker build -t dtrain:mpi --target mpi .      with Open MPI
# A job of the present folder:   docker run --rm --user "$(id -u):$(id -g)" -v "$PWD:/work" dtrain fit job.yaml
# scripts/package image runs these commands without a daemon.

# debian:bookworm-slim of 3 August 2026, as docker-library/repo-info lists it. What apt installs is newer.
FROM debian:bookworm-slim@sha256:abd67ffcfa541b485a3dff59865ab629aa048a6c613e639d36e7456b0b229241 AS base

FROM base AS build
WORKDIR /src
COPY . .
RUN scripts/install-missing && apt-get install -y -qq --no-install-recommends libopenmpi-dev
RUN make -s -j "$(nproc)" all \
    && make -s install-strip PREFIX=/usr DESTDIR=/out \
    && mkdir /plugin && mv /out/usr/lib/dtrain/* /plugin \
    && rm -r /out/usr/include /out/usr/lib \
    && install -D packaging/sbom /out/usr/share/dtrain/sbom

FROM base AS program
COPY --from=build /out/usr /usr
RUN apt-get update -qq \
    && apt-get install -y -qq --no-install-recommends libyaml-0-2 libjansson4 libssl3 zlib1g libpng16-16 libjpeg62-turbo libopenblas0 libdnnl2 libpcre2-8-0 libtiff6 libwebp7 libzmq5 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 1000 --create-home dtrain \
    && install -d -o dtrain -g dtrain /work
# A bill of materials, CycloneDX: all packages of the image.
RUN sh /usr/share/dtrain/sbom "$(dtrain version | sed -n '1s/^dtrain \([^ ]*\).*/\1/p')" >/usr/share/dtrain/sbom.cdx.json
WORKDIR /work

# Workers over Open MPI. The MPI operator starts sshd in each worker and mounts the keys: docs/many-machines.md#kubernetes.
FROM program AS mpi
COPY --from=build /plugin /usr/lib/dtrain
RUN apt-get update -qq \
    && apt-get install -y -qq --no-install-recommends openmpi-bin openssh-client openssh-server \
    && rm -rf /var/lib/apt/lists/* /etc/ssh/ssh_host_*
COPY packaging/ssh /etc/ssh
RUN sh /usr/share/dtrain/sbom "$(dtrain version | sed -n '1s/^dtrain \([^ ]*\).*/\1/p')" >/usr/share/dtrain/sbom.cdx.json
# Containers may not read each other's memory, by which Open MPI would copy large messages.
ENV OMPI_MCA_btl_vader_single_copy_mechanism=none
USER 1000:1000
CMD ["dtrain", "help"]

FROM program
USER 1000:1000
ENTRYPOINT ["dtrain"]
CMD ["help"]
