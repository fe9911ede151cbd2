# Judges a patch: the same toolchain, neither agent nor broker.
ARG BASE
FROM ${BASE}
COPY skill/ /opt/tileport/
ENTRYPOINT ["python3", "-m", "tileport_skill.judge"]
