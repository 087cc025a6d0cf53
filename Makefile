# The same commands as `python3 dev.py ...`, for those who like make.
.PHONY: check test lint trees golden bench growth fuzz runtime

check:
	python3 dev.py check $(FILES)

test:
	python3 dev.py test

lint:
	python3 dev.py lint

trees:
	python3 dev.py trees

# Rewrites tests/golden and fixtures/fixed*; read the diff before it is committed.
golden:
	KVLINT_TREES=$$(python3 dev.py trees) .venv/bin/python -m tests.regolden

bench:
	python3 benchmarks/run.py

# Input at n, 2n and 4n in some sixty shapes; fails where the cost grows faster.
growth:
	.venv/bin/python benchmarks/growth.py

# Hostile files, fixes, kills, repositories and rewritten programs: some forty minutes.
fuzz:
	.venv/bin/python -m tests.fuzz --seed $${SEED:-0}

runtime:
	.ci/runtime-env
