# shellcheck shell=bash
# The one container: what it may see and use, and its start.

PACKAGE_DIR=/mayfly/package
SCRATCH_DIR=/mayfly/scratch
PIDS_MAX=32768
# What the machine keeps for itself and docker, in KiB: of its memory a twentieth, and at least this.
RESERVE_KIB=393216

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
  mkdir -p "$WORK_DIR/package" "$WORK_DIR/scratch"
  chmod 1777 "$WORK_DIR/scratch"
  add_mount "$WORK_DIR/package" "$PACKAGE_DIR" readonly
  add_mount "$WORK_DIR/scratch" "$SCRATCH_DIR"
  mount_inputs
  mount_outputs
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

# The container must not take the memory that reports and docker need: then the kernel would end those
# too. Swap would only hide it.
limit_memory() {
  local total kept
  total=$(total_memory) || return 0
  kept=$((total / 20 > RESERVE_KIB ? total / 20 : RESERVE_KIB))
  ((kept < total / 2)) || kept=$((total / 2))
  LIMITS+=(--memory "$((total - kept))k" --memory-swap "$((total - kept))k")
}

# The machine's memory in KiB, on standard output.
total_memory() {
  local name amount
  while read -r name amount _; do
    [[ $name != MemTotal: ]] || { echo "$amount" && return 0; }
  done 2>/dev/null <"$MEMORY_FILE"
  return 1
}

# A parent group that outlives the container, for what its kernel counted. docker says which of its two
# ways of naming groups is in use.
choose_group() {
  local driver
  driver=$(ask_docker info --format '{{.CgroupDriver}}') || driver=''
  case $driver in
    systemd) GROUP=mayfly.slice ;;
    cgroupfs) GROUP=/mayfly ;;
    *) return 0 ;;
  esac
  LIMITS+=(--cgroup-parent "$GROUP")
}

start_container() {
  MOUNTS=() LIMITS=() GROUP='' SECRET_EXPORTS=''
  check_architecture
  make_mounts
  DEADLINE=$(rfc3339 "$((BOOT_EPOCH + TTL_SECONDS))")
  make_environment
  give_secrets
  limit_memory
  choose_group
  give_gpus
  STARTED=1
  : >"$RUN_DIR/started"
  run_container 2>"$RUN_DIR/start.txt" || explain_start "$?"
  EXEC_START_EPOCH=$(date +%s)
  write_guest_attribute status ready || true
}

# Its output goes to docker's own bounded log, never to ours and never to the runner's pipe.
run_container() {
  set -- docker run --detach --name "$INSTANCE" --init \
    --log-driver local --log-opt "max-size=$CONTAINER_LOG_SIZE" --log-opt max-file=2 \
    --security-opt no-new-privileges --pids-limit "$PIDS_MAX" ${LIMITS[@]+"${LIMITS[@]}"} \
    ${GPU_FLAGS[@]+"${GPU_FLAGS[@]}"} "${ENVIRONMENT[@]}" "${MOUNTS[@]}" \
    ${DOCKER_FLAGS[@]+"${DOCKER_FLAGS[@]}"} "$IMAGE" ${CONTAINER_ARGS[@]+"${CONTAINER_ARGS[@]}"}
  if [[ -z $SECRET_EXPORTS ]]; then
    bounded "$DOCKER_SECONDS" "$@"
  else
    with_secrets timeout --foreground --signal=KILL "$DOCKER_SECONDS" "$@"
  fi
}

# docker's own codes: 126 and 127 for a program that cannot be run or found, 125 for all that is docker's.
explain_start() {
  local error
  error=$(tail -c 4000 "$RUN_DIR/start.txt") || true
  say "docker run: exit code $1: $error"
  case $1-$error in
    126-* | 127-* | *'exec format error'*) refuse "the container's program could not be run" ;;
    *) fail "the container did not start" ;;
  esac
}
