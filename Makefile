# `make demo` and `make test` set up whatever is missing; the other targets are for people who work on Tileport.
.PHONY: demo test check setup lock soak bench mutants fuzz clean

# Whole files (tests/conftest.py) go to as many processes as there are processors, four at most: some take gigabytes.
WORKERS = -n logical --maxprocesses 4 --dist loadscope --no-loadscope-reorder

demo: setup
	@.venv/bin/tileport-bot demo

test: check
	@.venv/bin/pytest -q -m "not soak" $(WORKERS)

check: setup
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check -q .
	@.venv/bin/mypy
	@.venv/bin/lint-imports --no-logo

setup:
	@driver/setup.sh

soak: setup
	@.venv/bin/pytest -q -m soak

mutants: setup
	@.venv/bin/python tests/soak/run_mutants.py

fuzz: setup
	@.venv/bin/python tests/soak/fuzz_tileir.py --seconds 600

bench: setup
	@.venv/bin/python -m tests.bench
	@.venv/bin/python -m tests.bench_attempts
	@.venv/bin/python -m tests.bench_tileir
	@.venv/bin/python -m tests.bench_draft
	@.venv/bin/python -m tests.bench_tuning
	@.venv/bin/python -m tests.bench_agent
	@.venv/bin/python -m tests.bench_bot
	@.venv/bin/python -m tests.skill.capture.measure

lock: setup
	.venv/bin/uv pip compile --quiet --universal --python-version 3.11 pyproject.toml --group dev \
	    --override containers/overrides.txt --generate-hashes --custom-compile-command "make lock" -o requirements.lock
	.venv/bin/uv pip compile --quiet --universal --python-version 3.11 containers/toolchain.in -c requirements.lock \
	    --override containers/overrides.txt --generate-hashes --custom-compile-command "make lock" -o containers/toolchain.lock

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache
