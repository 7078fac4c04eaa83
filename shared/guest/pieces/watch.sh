# shellcheck shell=bash
# While the container runs: its limits, its log, its own end.

start_watchers() {
  start_heartbeat
  start_limit "$WORK_END" USR2
  if [[ -n $SPOT ]]; then watch_preemption & fi
}

# In a background process of ours: TERM ends it together with the sleep that it waits for.
end_with_sleep() { trap 'kill "$!" 2>/dev/null; exit 0' TERM; }

# start_limit AT SIGNAL: sends this script the signal AT so many seconds since boot. One limit at a time.
start_limit() {
  stop_limit
  watch_limit "$@" &
  LIMIT=$!
}

watch_limit() {
  end_with_sleep
  while tell_time && (($1 > NOW)); do
    sleep "$(($1 - NOW))" &
    wait "$!"
  done
  kill -s "$2" "$$"
}

stop_limit() {
  [[ -n ${LIMIT:-} ]] || return 0
  kill "$LIMIT" 2>/dev/null || true
  wait "$LIMIT" || true
  LIMIT=''
}

# The log object is rewritten whether it has changed or not: its update time is the heartbeat.
start_heartbeat() {
  beat &
  HEART=$!
}

beat() {
  end_with_sleep
  while :; do
    sleep "$HEARTBEAT_SECONDS" &
    wait "$!"
    send_log || true
  done
}

# The last part of what the container printed; nothing before it was started.
container_log() {
  [[ ! -e $RUN_DIR/started ]] || ask_docker logs --tail 10000 "$INSTANCE" 2>&1
}

send_log() {
  container_log | tail -c "$LOG_BYTES" >"$RUN_DIR/log.txt"
  address "$BUCKET" "$LOG_OBJECT"
  google POST "$UPLOAD_URL" --header 'Content-Type: text/plain' \
    --data-binary "@$RUN_DIR/log.txt" || judge
}

# A machine that is going down makes docker stop the container, and its exit code then means nothing.
is_stopping() {
  local state
  state=$(timeout --foreground --signal=KILL "$CALL_SECONDS" systemctl is-system-running 2>/dev/null)
  [[ $state == stopping ]]
}

# The container's own end, the only thing that success can come from.
await_container() {
  tell_time
  if ((NOW + TIMEOUT_SECONDS < WORK_END)); then start_limit "$((NOW + TIMEOUT_SECONDS))" USR1; fi
  persist "$WORK_END" "$TRIES" try_wait || fail "docker did not say how the container ended"
  stop_limit
  if is_stopping; then
    INTERRUPTED=power-off
    fail "the machine is going down"
  fi
  ENDED=1 EXIT_CODE=$CONTAINER_CODE
  ((EXIT_CODE != 0)) || return 0
  check_started
  CAUSE='exit'
  ! was_out_of_memory || CAUSE=out-of-memory
  exit 1
}

# docker's own init is process 1, and starts although the program behind it cannot.
check_started() {
  local last
  last=$(container_log | tail -n 1 | tail -c 1000)
  [[ $last == *'[FATAL tini '*' exec '*' failed: '* ]] || return 0
  STEP=start EXIT_CODE=null
  refuse "the container's program could not be run: $last"
}

# By docker's word, or by the kernel's count for the container's group (cgroup v2).
was_out_of_memory() {
  [[ $(ask_docker inspect --format '{{.State.OOMKilled}}' "$INSTANCE") != true ]] || return 0
  [[ -n $GROUP && $(cat "$CGROUP_DIR/$GROUP/memory.events" 2>/dev/null) =~ oom_kill\ [1-9] ]]
}

# The most memory that the container's group had at once: cgroup v2's file, or v1's.
read_peak_memory() {
  local bytes
  [[ -n $GROUP ]] || return 0
  bytes=$(cat "$CGROUP_DIR/$GROUP/memory.peak" "$CGROUP_DIR/memory/$GROUP/memory.max_usage_in_bytes" \
    2>/dev/null) || true
  [[ ! $bytes =~ ^[0-9]+ ]] || PEAK_MEMORY=${BASH_REMATCH[0]}
}

# In the background, so that signals are handled while it waits.
try_wait() {
  CONTAINER_CODE=''
  docker wait "$INSTANCE" >"$RUN_DIR/exit-code" &
  wait "$!" && read -r CONTAINER_CODE <"$RUN_DIR/exit-code"
  [[ $CONTAINER_CODE =~ ^[0-9]+$ ]] || is_stopping
}

# By its short flag: the long one is `--time` for some versions and `--timeout` for others.
stop_container() {
  timeout --foreground --signal=KILL "$(($1 + DOCKER_SECONDS))" docker stop -t "$1" "$INSTANCE"
}
