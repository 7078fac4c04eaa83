# shellcheck shell=bash
# The one container: credentials, image, start, and waiting for its own end.

PACKAGE_DIR=/mayfly/package
SCRATCH_DIR=/mayfly/scratch
PIDS_MAX=32768

# The token goes only to a registry that planning allows, on standard input, into the private folder.
log_in() {
  [[ -n $LOGIN_HOST ]] || return 0
  persist "$WORK_END" "$TRIES" try_login || fail "no log-in to $LOGIN_HOST"
}

try_login() {
  refresh_token || return 1
  bounded "$DOCKER_SECONDS" docker login --username oauth2accesstoken --password-stdin \
    "https://$LOGIN_HOST" < <(printf '%s' "$TOKEN") && return 0
  TOKEN=''
  return 1
}

log_out() {
  [[ -z $LOGIN_HOST ]] || bounded "$DOCKER_SECONDS" docker logout "https://$LOGIN_HOST" || true
}

pull_image() {
  persist "$WORK_END" "$TRIES" try_pull || fail "no image $IMAGE"
  log_out
  PULL_END_EPOCH=$(date +%s)
  find_digest
}

# What was pulled, so that later attempts can pull exactly that.
find_digest() {
  local digests
  digests=$(ask_docker image inspect --format '{{range .RepoDigests}}{{.}} {{end}}' "$IMAGE") || digests=''
  [[ ! "$IMAGE $digests" =~ @(sha256:[0-9a-f]{64}) ]] || IMAGE_DIGEST=${BASH_REMATCH[1]}
}

# docker's answer on standard output, within a time limit.
ask_docker() { timeout --foreground --signal=KILL "$DOCKER_SECONDS" docker "$@"; }

# Quiet: progress would push the cause of a failure out of the log's last lines.
try_pull() { bounded "$PULL_SECONDS" docker pull --quiet "$IMAGE" || return 1; }

# RFC 3339 for GNU and for BSD.
rfc3339() {
  date -u -d "@$1" +%Y-%m-%dT%H:%M:%SZ 2>/dev/null || date -u -r "$1" +%Y-%m-%dT%H:%M:%SZ
}

# docker's value for --mount is a line of CSV, so a path with a comma or a quote is quoted.
add_mount() { # SOURCE TARGET [readonly]
  local target="target=$2"
  [[ $2 != *[,\"]* ]] || target="\"target=${2//\"/\"\"}\""
  MOUNTS+=(--mount "type=bind,source=$1,$target${3:+,$3}")
}

make_mounts() {
  local index
  MOUNTS=()
  mkdir -p "$WORK_DIR/scratch"
  chmod 1777 "$WORK_DIR/scratch"
  add_mount "$WORK_DIR/package" "$PACKAGE_DIR" readonly
  add_mount "$WORK_DIR/scratch" "$SCRATCH_DIR"
  for ((index = 0; index < ${#INPUT_PATHS[@]}; index++)); do
    # A prefix may have held no object.
    [[ -e $WORK_DIR/inputs/$index ]] || mkdir -p "$WORK_DIR/inputs/$index"
    add_mount "$WORK_DIR/inputs/$index" "${INPUT_PATHS[index]}" readonly
  done
  for ((index = 0; index < ${#OUTPUT_PATHS[@]}; index++)); do
    mkdir -p "$WORK_DIR/outputs/$index"
    chmod 1777 "$WORK_DIR/outputs/$index"
    add_mount "$WORK_DIR/outputs/$index" "${OUTPUT_PATHS[index]}"
  done
}

# What we say to the container first, then the request's own variables.
make_environment() {
  local threads=$THREADS name pair
  [[ -n $threads ]] || threads=$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)
  ENVIRONMENT=(
    --env "MAYFLY_RUN_ID=$RUN_ID" --env "MAYFLY_ATTEMPT=$ATTEMPT" --env MAYFLY_RUNTIME=gce
    --env MAYFLY_TASK_INDEX=0 --env MAYFLY_TASK_COUNT=1
    --env "MAYFLY_DEADLINE=$DEADLINE"
    --env "MAYFLY_PACKAGE_DIR=$PACKAGE_DIR" --env "MAYFLY_SCRATCH_DIR=$SCRATCH_DIR"
  )
  for name in MKL_NUM NUMEXPR_NUM OMP_NUM OPENBLAS_NUM VECLIB_MAXIMUM; do
    ENVIRONMENT+=(--env "${name}_THREADS=$threads")
  done
  for pair in ${CONTAINER_ENV[@]+"${CONTAINER_ENV[@]}"}; do ENVIRONMENT+=(--env "$pair"); done
}

start_container() {
  make_mounts
  DEADLINE=$(rfc3339 "$((BOOT_EPOCH + TTL_SECONDS))")
  make_environment
  STARTED=1
  : >"$WORK_DIR/started"
  # What closes the metadata server to the container belongs here, before it runs.
  run_container || fail "the container did not start"
  EXEC_START_EPOCH=$(date +%s)
}

# Its output goes to docker's own bounded log, never to ours and never to the runner's pipe.
run_container() {
  bounded "$DOCKER_SECONDS" docker run --detach --name "$INSTANCE" --init \
    --log-driver local --log-opt "max-size=$CONTAINER_LOG_SIZE" --log-opt max-file=2 \
    --security-opt no-new-privileges --pids-limit "$PIDS_MAX" "${ENVIRONMENT[@]}" "${MOUNTS[@]}" \
    ${DOCKER_FLAGS[@]+"${DOCKER_FLAGS[@]}"} "$IMAGE" ${CONTAINER_ARGS[@]+"${CONTAINER_ARGS[@]}"}
}
