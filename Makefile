# Everything a person needs. Each target sets up what it uses; nothing is done twice.
#   JOBS=n      parallel jobs (default: cores, less when memory is short)
#   PYTHON=...  the interpreter .venv is made with (default: 3.11, else 3.10 or newer)
.DEFAULT_GOAL := help
.PHONY: help demo build test bench validate check format clean distclean
.NOTPARALLEL:
export JOBS PYTHON

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: build  ## Build, then run a language model on four simulated boards
	@tools/setup live
	@.venv/bin/orrery demo
	@echo "The command is .venv/bin/orrery; 'source .venv/bin/activate' puts it on the path."

build:  ## Build and install into .venv (leaves .venv/bin/orrery)
	@tools/setup build test
	@tools/build release orrery_package
	@.venv/bin/python tools/install build/release

test:  ## Build, then run every test
	@tools/setup build test live
	@tools/build release
	@.venv/bin/python tools/install build/release
	@tools/test

bench: build  ## Measure speed and accuracy; writes build/bench/results.json
	@tools/setup build bench
	@tools/build bench
	@.venv/bin/python bench/run.py --build build/bench --output build/bench/results.json
	@tools/setup live
	@.venv/bin/python bench/live_bench.py --json build/bench/results.json

validate: build  ## Compare models with measurements; rewrites docs/validation.md
	@tools/setup build validate
	@.venv/bin/python tools/validate_nccl.py --predict orrery --orrery .venv/bin/orrery
	@tools/setup live
	@.venv/bin/python tools/validate_device.py --orrery .venv/bin/orrery
	@.venv/bin/orrery validate -o docs/validation.md

check: test  ## All tests, style, clang, sanitizers: what a change must pass
	@tools/setup build test check
	@tools/check

format:  ## Rewrite the C++ sources in the house format
	@tools/setup check
	@git ls-files -co --exclude-standard '*.cpp' '*.hpp' | xargs clang-format-19 -i

clean:  ## Remove what was built
	rm -rf build dist

distclean: clean  ## Remove .venv as well
	rm -rf .venv
