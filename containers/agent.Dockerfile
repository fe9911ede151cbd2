# Produces a patch: the agent's loop and the tools it calls. No network, no key, no git history of the target.
ARG BASE
FROM ${BASE}
COPY skill/ /opt/tileport/
ENTRYPOINT ["python3", "-m", "tileport_skill.agent"]
