# SPDX-License-Identifier: Apache-2.0
# An image of the program:       docker build -t dtrain .
# A job of the present folder:   docker run --rm -v "$PWD:/work" dtrain fit job.yaml
# scripts/package image runs these commands without a daemon.
FROM debian:bookworm-slim AS build
WORKDIR /src
COPY . .
RUN scripts/install-missing
RUN make -s -j "$(nproc)" all && make -s install-strip PREFIX=/usr DESTDIR=/out && rm -r /out/usr/include /out/usr/lib

FROM debian:bookworm-slim
COPY --from=build /out/usr /usr
RUN apt-get update -qq \
    && apt-get install -y -qq --no-install-recommends libyaml-0-2 libjansson4 libssl3 zlib1g libpng16-16 libjpeg62-turbo libopenblas0 libzmq5 \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /work
ENTRYPOINT ["dtrain"]
CMD ["help"]
