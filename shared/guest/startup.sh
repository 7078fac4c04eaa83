#!/bin/bash
# The startup script of a run's machine: bash, not plain sh. It claims the attempt, runs the one container
# in named steps, reports the true end in the marker object, and deletes its machine.
# Planning replaces the block of blanks and puts each piece in the place of its `source` line.
set -euo pipefail

# --- blanks: planning fills these in ---
RUN_ID='run'
ATTEMPT='1'
INSTANCE='instance'
ZONE='zone'
PROJECT='project'
BUCKET='bucket'
CLAIM_OBJECT='claim'
MARKER_OBJECT='marker'
LOG_OBJECT='log'
NONCE='nonce'
NONCE_SHA256='nonce-sha256'
IMAGE='image'
LOGIN_HOST=''
DOCKER_FLAGS=()
CONTAINER_ENV=()
CONTAINER_ARGS=()
PACKAGE_BUCKET=''
PACKAGE_OBJECT=''
PACKAGE_SHA256=''
INPUT_PATHS=()
INPUT_FILES=()
INPUT_BUCKETS=()
INPUT_OBJECTS=()
INPUT_GENERATIONS=()
INPUT_BYTES=()
OUTPUT_PATHS=()
OUTPUT_BUCKETS=()
OUTPUT_PREFIXES=()
THREADS=''
TTL_SECONDS='7200'
TIMEOUT_SECONDS='6900'
STORAGE_URL='https://storage.googleapis.com'
COMPUTE_URL='https://compute.googleapis.com'
WORK_DIR='/var/lib/mayfly'
BOOT_ID_FILE='/proc/sys/kernel/random/boot_id'
UPTIME_FILE='/proc/uptime'
CONNECT_SECONDS='5'
CALL_SECONDS='30'
STALL_SECONDS='60'
DOCKER_SECONDS='120'
PULL_SECONDS='1800'
TRIES='6'
DELETE_TRIES='12'
BACKOFF_MS='1000'
BACKOFF_MAX_MS='30000'
HEARTBEAT_SECONDS='60'
END_MARGIN_SECONDS='120'
REPORT_MARGIN_SECONDS='45'
STOP_GRACE_SECONDS='30'
INTERRUPT_GRACE_SECONDS='10'
SELF_DELETE_DELAY_SECONDS='20'
LOG_BYTES='65536'
CONTAINER_LOG_SIZE='16m'
# --- end of blanks ---

# Output goes to a file before anything else: at a power-off the runner's pipe has no reader any more,
# and the first echo would end this script without a trace. The folder is private, the log starts empty.
(umask 077 && mkdir -p "$WORK_DIR") 2>/dev/null || true
: 2>/dev/null >"$WORK_DIR/steps.log" || true
exec </dev/null >>"$WORK_DIR/steps.log" 2>&1 || exec </dev/null >/dev/null 2>&1
trap clean_up EXIT
trap 'INTERRUPTED=TERM; exit 143' TERM
trap 'INTERRUPTED=HUP; exit 129' HUP
trap 'INTERRUPTED=INT; exit 130' INT
trap 'CAUSE=timeout; exit 1' USR1
trap 'CAUSE=ttl; exit 1' USR2

# What is known so far; `null` is JSON's. CAUSE stays empty until the end is certain.
INTERRUPTED='' CLAIM_STATE='' CAUSE='' STEP=boot STARTED='' ENDED='' REPORTED='' OUTPUTS='[]'
EXIT_CODE=null BOOT_EPOCH=null PULL_END_EPOCH=null EXEC_START_EPOCH=null IMAGE_DIGEST=''
# In seconds since boot: the container has ended by then, so that there is time to report.
WORK_END=$((TTL_SECONDS - END_MARGIN_SECONDS))

source pieces/calls.sh
source pieces/text.sh
source pieces/claim.sh
source pieces/marker.sh
source pieces/delete.sh
source pieces/transfer.sh
source pieces/container.sh
source pieces/watch.sh
source pieces/end.sh

# The order of a run. A step that fails ends the script, and clean_up says which one it was.
main() {
  prepare
  take_claim
  announce_running
  start_heartbeat
  start_limit "$WORK_END" USR2
  step tools
  command -v docker >/dev/null || fail "this boot image has no docker"
  step credentials
  log_in
  step pull
  pull_image
  step package
  fetch_package
  step inputs
  fetch_inputs
  step start
  start_container
  step run
  await_container
  step outputs
  send_outputs
  step report
  CAUSE='exit'
}
main
