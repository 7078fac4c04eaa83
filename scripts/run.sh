#!/bin/sh
# Runs a script of this project on the project's own Node, installing the dependencies first where
# they are missing or older than the lock file. Usage: sh scripts/run.sh FILE [ARGUMENT...]
set -eu
caller=$PWD
cd "$(dirname "$0")/.."
if [ ! -x node_modules/node/bin/node ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
  echo "installing dependencies (npm ci)" >&2
  npm ci --no-audit --no-fund --loglevel=error >&2
  touch node_modules/.package-lock.json
fi
PATH=$PWD/node_modules/node/bin:$PATH
MAYFLY_CALLER_DIR=${INIT_CWD:-$caller}
# Sources are TypeScript: what Node made of them is kept for the next start.
NODE_COMPILE_CACHE=$PWD/node_modules/.cache/node-compile
export PATH MAYFLY_CALLER_DIR NODE_COMPILE_CACHE
exec node "$@"
