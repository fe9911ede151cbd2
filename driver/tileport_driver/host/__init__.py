"""What a host must have before an attempt can run: Rust, a Docker engine, images, the toolchain volume."""
