# make demo   set up and run the main job: simulate an IRB 360 log, identify it, write results/irb360/report.html
# make campaign   the IRB 360 from the disassembled robot to the verified model, simulated: results/irb360_campaign/campaign.md
# make fuzz   mutated files and options for every command: CASES=20000 SECONDS=3600
# make test   set up and run the tests
# Both make a virtual environment in .venv; nothing outside this folder is touched.
PYTHON ?= python3
CASES ?= 20000
SECONDS ?= 3600
VENV ?= .venv
BIN = $(VENV)/bin
# Tests run side by side, and matrices are small: a second thread of BLAS takes time and gives none.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
SOURCES = $(wildcard pyproject.toml */*.py */*/*.py urdf/*.urdf urdf/*.yaml viz/*.html)

.PHONY: demo campaign test fuzz faults figures bench cluster docs clean

demo: $(VENV)/.installed
	@echo "Simulating an IRB 360 log (called simulated everywhere) and identifying it; results lie in results/irb360."
	$(BIN)/robodyn simulate irb360 --motion examples/irb360_motion.yaml --out results/irb360_log.csv \
	    --noise 1.5,1.5,1.6,0.16 --encoder-bits 15 --seed 1
	$(BIN)/robodyn identify examples/irb360.yaml --out results/irb360

campaign: $(VENV)/.installed
	$(BIN)/python examples/irb360_campaign/campaign.py

test: $(VENV)/.tested
	@echo "Running the tests; those on measured logs skip where ROBODYN_DATA names no folder, those of pages without chromium."
	$(BIN)/pytest tests -n auto --dist loadfile --no-loadscope-reorder

fuzz: $(VENV)/.tested
	$(BIN)/python tests/commands/campaign.py --cases $(CASES) --seconds $(SECONDS)

figures: $(VENV)/.tested
	$(BIN)/python figures/make.py

# 200 kills over all commands that write, Ctrl-C, and full disks; reported in docs/figures.md
faults: $(VENV)/.tested
	$(BIN)/python figures/make.py faults

docs: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check '.[docs]'
	$(BIN)/sphinx-build -W -E -q docs build/docs
	@echo "The pages begin with build/docs/index.html."

bench: $(VENV)/.tested
	$(BIN)/python -m pip install --quiet --disable-pip-version-check '.[bench]'
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/peers.py

# A Dask scheduler and two workers on this machine, until Ctrl-C: robodyn identify RUN.yaml --scheduler tcp://127.0.0.1:8786.
# The path is for the studies of figures/.
cluster: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check '.[scale]'
	@trap 'kill 0' EXIT; $(BIN)/dask scheduler --host 127.0.0.1 --port 8786 & sleep 3; \
	    DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED=False PYTHONPATH=figures:benchmarks:tests:$$(ls -d tests/*/ | paste -sd:) \
	    $(BIN)/dask worker tcp://127.0.0.1:8786 --nworkers 2 --nthreads 1 --memory-limit 4GiB

$(VENV)/.installed: $(SOURCES)
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check .
	touch $@

$(VENV)/.tested: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check '.[test]'
	touch $@

clean:
	rm -rf $(VENV) build results *.egg-info
