# shellcheck shell=bash
# A container on a machine with GPUs: what it is given, whether it sees every card, whether it uses one.
# How the driver gets into it depends on the boot image.

DEV_DIR=${DEV_DIR:-/dev}
GPU_PERIOD_SECONDS=${GPU_PERIOD_SECONDS:-30}
# What docker gives when nobody says more.
SHM_KIB_MIN=65536

give_gpus() {
  ((GPU_COUNT > 0)) || return 0
  gpu_flags
  check_gpus
}

watch_idle_gpus() {
  if ((GPU_IDLE_SECONDS > 0)); then watch_gpu_idle ALRM & fi
}

# docker's flags, in GPU_FLAGS; the request's own environment has to come after them.
gpu_flags() {
  local half
  half=$(($(total_memory || echo 0) / 2))
  # Processes that feed a GPU hand each other their data through /dev/shm.
  GPU_FLAGS=(--shm-size "$((half > SHM_KIB_MIN ? half : SHM_KIB_MIN))k")
  if [[ $BOOT_KIND == cos ]]; then add_driver_devices; else add_toolkit_flag; fi
}

# Each card that is paid for has to be seen in a container with the run's own flags. The driver's program
# knows best: a card that it lists works there, and what it says instead is the fault. Where it says
# nothing the image cannot run it (another libc, no `utility` capability); then a shell counts the device
# nodes. Without a shell nothing can be asked: docker passes each node of the machine, or starts nothing.
check_gpus() {
  local code=0 device
  probe nvidia-smi --list-gpus || code=$?
  # 137: it was cut off.
  if ((code != 0 && code != 137)) && [[ ! -s $WORK_DIR/gpus ]]; then
    code=0
    probe sh -c 'printf "GPU %s\n" /dev/nvidia[0-9]*' || code=$?
    if ((code == 126 || code == 127)); then
      code=0
      for device in "$DEV_DIR"/nvidia[0-9]*; do
        echo "GPU /dev/${device#"$DEV_DIR/"}"
      done >"$WORK_DIR/gpus"
    fi
  fi
  count_cards
  ((code == 0 && CARDS == GPU_COUNT)) ||
    fail "the container sees $CARDS cards of $GPU_COUNT (exit code $code)"
}

# probe PROGRAM ARGUMENT…: in a container like the run's that reaches nothing.
probe() {
  bounded "$DOCKER_SECONDS" docker run --rm --network none "${GPU_FLAGS[@]}" \
    ${DOCKER_FLAGS[@]+"${DOCKER_FLAGS[@]}"} --entrypoint "$1" "$IMAGE" "${@:2}" >"$WORK_DIR/gpus"
}

# The cards in the file `gpus`, in CARDS; a line each, `GPU 0: name` or `GPU /dev/nvidia0`.
count_cards() {
  local line
  CARDS=0
  while read -r line; do
    echo "$line"
    [[ $line != GPU\ ?(/dev/nvidia)+([0-9])?(:*) ]] || CARDS=$((CARDS + 1))
  done <"$WORK_DIR/gpus"
}

# watch_gpu_idle SIGNAL: in the background, once the container has started. Sends this script the signal
# when no card has done any work for GPU_IDLE_SECONDS; what is not known is not idle.
watch_gpu_idle() {
  local since
  end_with_sleep
  tell_time
  since=$NOW
  while ((NOW - since < GPU_IDLE_SECONDS)); do
    sleep "$GPU_PERIOD_SECONDS" &
    wait "$!"
    tell_time
    are_gpus_idle || since=$NOW
  done
  say "no GPU did any work for $GPU_IDLE_SECONDS s"
  kill -s "$1" "$$"
}

are_gpus_idle() {
  local use
  bounded "$CALL_SECONDS" nvidia-smi --query-gpu=utilization.gpu --format=csv,noheader,nounits \
    >"$WORK_DIR/gpu-use" 2>/dev/null || return 1
  use=$(<"$WORK_DIR/gpu-use")
  # A card that is divided answers `[N/A]`.
  [[ $use == *0* && $use != *[!0[:space:]]* ]]
}
