#!/bin/bash
# The startup script of a run's machine: bash, not plain sh. It claims the attempt, runs the one container
# in named steps, reports the true end in the marker object, and deletes its machine.
# Planning replaces the block of blanks, puts each piece in the place of its `source` line, and keeps a
# line or piece `# with PART` only for runs that need that part.
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
LOGIN_HOST='' # with login
CREDENTIALS_SECRET='' # with image-credentials
DOCKER_FLAGS=()
CONTAINER_ENV=()
CONTAINER_ARGS=()
SECRET_KEYS=() # with secrets
SECRET_NAMES=() # with secrets
GPU_COUNT='0'
GPU_IDLE_SECONDS='0' # with gpu-idle
PACKAGE_BUCKET='' # with package
PACKAGE_OBJECT='' # with package
PACKAGE_SHA256='' # with package
INPUT_PATHS=() # with inputs
INPUT_FILES=() # with inputs
INPUT_BUCKETS=() # with inputs
INPUT_OBJECTS=() # with inputs
INPUT_GENERATIONS=() # with inputs
INPUT_BYTES=() # with inputs
OUTPUT_PATHS=() # with outputs
OUTPUT_BUCKETS=() # with outputs
OUTPUT_PREFIXES=() # with outputs
THREADS=''
TTL_SECONDS='7200'
TIMEOUT_SECONDS='6900'
KEEP_SECONDS='0'
STORAGE_URL='https://storage.googleapis.com'
COMPUTE_URL='https://compute.googleapis.com'
LOGGING_URL='https://logging.googleapis.com' # with full-log
SECRETS_URL='https://secretmanager.googleapis.com' # with secrets
WORK_DIR='/var/lib/mayfly'
RUN_DIR='/run/mayfly'
WORK_UNIT='mayfly'
BOOT_ID_FILE='/proc/sys/kernel/random/boot_id'
UPTIME_FILE='/proc/uptime'
MEMORY_FILE='/proc/meminfo'
CGROUP_DIR='/sys/fs/cgroup'
FIREWALL='iptables' # with metadata-wall
LOCAL_SSDS='/dev/disk/by-id/google-local-nvme-ssd-' # with local-ssd
CONNECT_SECONDS='5'
CALL_SECONDS='30'
STALL_SECONDS='60' # with transfer
DOCKER_SECONDS='120'
PULL_SECONDS='1800'
TRIES='6'
DELETE_TRIES='12'
BACKOFF_MS='1000'
BACKOFF_MAX_MS='30000'
HEARTBEAT_SECONDS='60'
LOG_BATCH_SECONDS='5' # with full-log
END_MARGIN_SECONDS='120'
REPORT_MARGIN_SECONDS='45' # with outputs
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
source pieces/transfer.sh # with transfer
source pieces/package.sh # with package
source pieces/inputs.sh # with inputs
source pieces/outputs.sh # with outputs
source pieces/tools-apt.sh # with apt
source pieces/tools-cos-gpu.sh # with cos-gpu
source pieces/gpu.sh # with gpu
source pieces/secrets.sh # with secrets
source pieces/image.sh
source pieces/scratch-ssd.sh # with local-ssd
source pieces/metadata-wall.sh # with metadata-wall
source pieces/container.sh
source pieces/full-log.sh # with full-log
source pieces/watch.sh
source pieces/preemption.sh # with spot
source pieces/end.sh

# The order of a run. A step that fails ends the script, and clean_up says which one it was.
main() {
  prepare
  take_claim
  announce_running
  start_watchers
  step tools
  install_tools # with apt
  install_driver # with cos-gpu
  command -v docker >/dev/null || refuse "this boot image has no docker"
  mount_scratch # with local-ssd
  step credentials
  read_image_credentials # with image-credentials
  log_in # with login
  read_secrets # with secrets
  step pull
  pull_image
  fetch_package # with package
  fetch_inputs # with inputs
  step start
  close_metadata_server # with metadata-wall
  start_container
  step run
  start_full_log # with full-log
  watch_idle_gpus # with gpu-idle
  await_container
  send_outputs # with outputs
  step report
  CAUSE='exit'
}
main
