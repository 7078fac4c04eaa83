#!/bin/bash
# The shutdown script of a run's machine: bash, not plain sh. At a power-off nobody signals the startup
# script, so this one does, and waits for its report; where none came it reports the interruption itself.
# Docker may be gone by now: nothing here asks it.
set -uo pipefail

# --- blanks: planning fills these in ---
RUN_ID='run'
ATTEMPT='1'
INSTANCE='instance'
ZONE='zone'
PROJECT='project'
BUCKET='bucket'
MARKER_OBJECT='marker'
NONCE='nonce'
TTL_SECONDS='7200'
STORAGE_URL='https://storage.googleapis.com'
COMPUTE_URL='https://compute.googleapis.com'
RUN_DIR='/run/mayfly'
BOOT_ID_FILE='/proc/sys/kernel/random/boot_id'
UPTIME_FILE='/proc/uptime'
CONNECT_SECONDS='5'
CALL_SECONDS='30'
TRIES='6'
DELETE_TRIES='12'
BACKOFF_MS='1000'
BACKOFF_MAX_MS='30000'
SHUTDOWN_WAIT_SECONDS='15'
# --- end of blanks ---

(umask 077 && mkdir -p "$RUN_DIR") 2>/dev/null
exec 3>/dev/null </dev/null >>"$RUN_DIR/shutdown.log" 2>&1 || exec </dev/null >/dev/null 2>&1

STEP=boot EXIT_CODE=null BOOT_EPOCH=null PULL_END_EPOCH=null EXEC_START_EPOCH=null IMAGE_DIGEST=''
PEAK_MEMORY=null GPU_COUNT=0 PERMANENT=false

source pieces/calls.sh
source pieces/text.sh
source pieces/marker.sh
source pieces/delete.sh

# Asks the startup script of this boot to end, and gives it time to report.
end_startup_script() {
  local process boot left=$((SHUTDOWN_WAIT_SECONDS * 10))
  [[ -e $RUN_DIR/process ]] || return 0
  read -r process boot <"$RUN_DIR/process"
  [[ $boot == "$BOOT_ID" ]] || return 0
  kill -TERM "$process" || return 0
  while ((left-- > 0)) && kill -0 "$process" 2>/dev/null; do pause_ms 100; done
}

main() {
  local cause=interrupted holder=''
  BOOT_ID=$(cat "$BOOT_ID_FILE")
  end_startup_script
  # Without the claim in this boot there is nothing to say, and the next boot may work.
  [[ ! -e $RUN_DIR/claimed ]] || read -r holder <"$RUN_DIR/claimed"
  [[ $holder == "$BOOT_ID" ]] || return 0
  read -r STEP BOOT_EPOCH PULL_END_EPOCH EXEC_START_EPOCH <"$RUN_DIR/progress"
  metadata instance/preempted && [[ $REPLY == TRUE ]] && cause=preempted
  make_marker FAILED "$cause" '"the machine was stopped before its run had ended"' '[]' "$NONCE"
  persist "$TTL_SECONDS" "$TRIES" write_marker
  delete_machine
}
main
