# What both roles need: a linker, libclang for the CUDA bindings, git, Python. The toolchain itself (Rust, crates,
# CUDA wheels, Python packages) is a read-only volume mounted at /toolchain, not gigabytes in each image.
ARG BASE
FROM ${BASE}
ENV DEBIAN_FRONTEND=noninteractive
RUN apt-get update \
 && apt-get install -y --no-install-recommends gcc g++ git libc6-dev libclang-dev make python3 util-linux \
 && rm -rf /var/lib/apt/lists/*
# Found by cargo from every folder below the root: crates come from the volume, nothing from a network.
COPY cargo.toml /.cargo/config.toml
COPY tileport-skill /usr/local/bin/tileport-skill
ENV PATH=/toolchain/rust/bin:/toolchain/python/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONPATH=/opt/tileport:/toolchain/python \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONPYCACHEPREFIX=/bytecode \
    USER=tileport \
    CUDA_TOOLKIT_PATH=/toolchain/python/nvidia/cu13 \
    TILEPORT_CUDA_HOME=/toolchain/python/nvidia/cu13 \
    TILEPORT_EMITTER=/emitter/tileport-emitter \
    CARGO_HOME=/tmp/cargo \
    HOME=/tmp/home \
    LC_ALL=C.UTF-8
WORKDIR /work
