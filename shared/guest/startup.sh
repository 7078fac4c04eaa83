#!/bin/bash
# The startup script of a run's machine: bash, not plain sh. It claims the attempt, runs the one container
# in named steps, reports the true end in the marker object, and deletes its machine.
# One script for every machine: planning replaces the block of blanks, and an empty blank is a part of the
# work that this run does not have.
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
BOOT_KIND='cos'
SPOT=''
LOGIN_HOST=''
CREDENTIALS_SECRET=''
DOCKER_FLAGS=()
CONTAINER_ENV=()
CONTAINER_ARGS=()
SECRET_KEYS=()
SECRET_NAMES=()
GPU_COUNT='0'
GPU_IDLE_SECONDS='0'
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
KEEP_SECONDS='0'
STORAGE_URL='https://storage.googleapis.com'
COMPUTE_URL='https://compute.googleapis.com'
LOGGING_URL='https://logging.googleapis.com'
LOG_TRACE=''
SECRETS_URL='https://secretmanager.googleapis.com'
WORK_DIR='/var/lib/mayfly'
RUN_DIR='/run/mayfly'
WORK_UNIT='mayfly'
BOOT_ID_FILE='/proc/sys/kernel/random/boot_id'
UPTIME_FILE='/proc/uptime'
MEMORY_FILE='/proc/meminfo'
CGROUP_DIR='/sys/fs/cgroup'
FIREWALL='iptables'
LOCAL_SSDS=''
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
LOG_BATCH_SECONDS='5'
END_MARGIN_SECONDS='120'
REPORT_MARGIN_SECONDS='45'
STOP_GRACE_SECONDS='30'
INTERRUPT_GRACE_SECONDS='10'
UNIT_STOP_SECONDS='100'
SELF_DELETE_DELAY_SECONDS='20'
LOG_BYTES='65536'
CONTAINER_LOG_SIZE='16m'
# --- end of blanks ---

source pieces/unit.sh

# What is known so far; `null` is JSON's. CAUSE stays empty until the end is certain.
INTERRUPTED='' CLAIM_STATE='' CAUSE='' PERMANENT=false STEP=boot STARTED='' ENDED='' REPORTED=''
EXIT_CODE=null BOOT_EPOCH=null PULL_END_EPOCH=null EXEC_START_EPOCH=null PEAK_MEMORY=null
IMAGE_DIGEST='' OUTPUTS='[]'
# In seconds since boot: the container has ended by then, so that there is time to report.
WORK_END=$((TTL_SECONDS - END_MARGIN_SECONDS))

source pieces/calls.sh
source pieces/text.sh
source pieces/claim.sh
source pieces/marker.sh
source pieces/delete.sh
source pieces/transfer.sh
source pieces/package.sh
source pieces/inputs.sh
source pieces/outputs.sh
source pieces/tools.sh
source pieces/tools-apt.sh
source pieces/tools-cos-gpu.sh
source pieces/gpu.sh
source pieces/secrets.sh
source pieces/image.sh
source pieces/scratch-ssd.sh
source pieces/metadata-wall.sh
source pieces/container.sh
source pieces/full-log.sh
source pieces/watch.sh
source pieces/preemption.sh
source pieces/end.sh

# The order of a run. A step that fails ends the script, and clean_up says which one it was.
main() {
  prepare
  take_claim
  announce_running
  start_watchers
  step tools
  prepare_tools
  mount_scratch
  step credentials
  read_image_credentials
  log_in
  read_secrets
  step pull
  pull_image
  step package
  fetch_package
  step inputs
  fetch_inputs
  step start
  close_metadata_server
  start_container
  step run
  start_full_log
  watch_idle_gpus
  await_container
  step outputs
  send_outputs
  step report
  CAUSE='exit'
}
main
