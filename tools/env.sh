# Sourced by the other tools: where things are, which compiler, how many jobs.
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
venv="$root/.venv"
stamps="$root/build/stamps"
PATH="$venv/bin:$PATH"
export PATH

say() { printf '%s\n' "orrery: $*"; }
die() { code=$1; shift; printf '%s\n' "orrery: $*" >&2; exit "$code"; }
major_of() { "$1" -dumpversion 2>/dev/null | cut -d. -f1; }

# g++ 12 is the floor. Where the default one is older, the versioned one is used.
if [ -z "${CXX:-}" ]; then
  default=$(major_of g++)
  if [ "${default:-99}" -lt 12 ] && command -v g++-12 >/dev/null 2>&1; then
    CC=gcc-12 CXX=g++-12
    export CC CXX
  fi
fi

# One job per core, but no more than memory allows at 1.5 GB each. JOBS overrides.
if [ -z "${JOBS:-}" ]; then
  JOBS=$(nproc 2>/dev/null || echo 1)
  free_kb=$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo 2>/dev/null)
  limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || echo max)
  case "$limit" in
    ''|*[!0-9]*) ;;
    *) if [ $((limit / 1024)) -lt "${free_kb:-0}" ]; then free_kb=$((limit / 1024)); fi ;;
  esac
  fit=$((${free_kb:-1500000} / 1500000))
  if [ "$fit" -lt "$JOBS" ]; then JOBS=$fit; fi
  if [ "$JOBS" -lt 1 ]; then JOBS=1; fi
fi
export JOBS
