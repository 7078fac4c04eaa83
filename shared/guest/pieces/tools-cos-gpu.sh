# shellcheck shell=bash
# The GPU's driver on Container-Optimized OS, which comes without one: its own installer puts it under
# /var/lib. There is no container toolkit there: devices and libraries are passed by hand.

DRIVER_DIR=${DRIVER_DIR:-/var/lib/nvidia}
# Where images that are made for GPUs look for the driver.
DRIVER_MOUNT=/usr/local/nvidia
PATH_DEFAULT=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
DRIVER_SECONDS=900

install_driver() {
  persist "$WORK_END" 3 try_install_driver || fail "cos-extensions did not install the GPU driver"
  # Programs may not run from that file system.
  if ! mount --bind "$DRIVER_DIR" "$DRIVER_DIR" || ! mount -o remount,exec "$DRIVER_DIR"; then
    fail "$DRIVER_DIR could not be made executable"
  fi
  PATH+=":$DRIVER_DIR/bin"
  bounded "$DOCKER_SECONDS" nvidia-smi --list-gpus >"$WORK_DIR/gpus" || say "nvidia-smi failed"
  count_cards
  ((CARDS == GPU_COUNT)) || fail "the GPU driver finds $CARDS cards of $GPU_COUNT"
}

try_install_driver() {
  bounded "$DRIVER_SECONDS" cos-extensions install gpu && return 0
  # One that was cut off runs on, and the next would be refused.
  ask_docker rm --force cos-gpu-installer >/dev/null 2>&1 || true
  return 1
}

# The folders are read-only: this script runs programs of theirs as root.
add_driver_devices() {
  local device line name path=$PATH_DEFAULT libraries=''
  for device in "$DEV_DIR"/nvidia{[0-9]*,ctl,-uvm,-uvm-tools,-modeset,-caps/*}; do
    [[ ! -e $device ]] || GPU_FLAGS+=(--device "$device:/dev/${device#"$DEV_DIR/"}")
  done
  ask_docker image inspect --format '{{range .Config.Env}}{{println .}}{{end}}' "$IMAGE" \
    >"$WORK_DIR/image-env" || fail "the environment of $IMAGE could not be read"
  while read -r line; do
    case $line in
      PATH=*) path=${line#*=} ;;
      LD_LIBRARY_PATH=*) libraries=${line#*=} ;;
    esac
  done <"$WORK_DIR/image-env"
  for name in lib64 bin; do
    GPU_FLAGS+=(--volume "$DRIVER_DIR/$name:$DRIVER_MOUNT/$name:ro")
  done
  GPU_FLAGS+=(--env "LD_LIBRARY_PATH=$DRIVER_MOUNT/lib64${libraries:+:$libraries}")
  GPU_FLAGS+=(--env "PATH=$DRIVER_MOUNT/bin:$path")
}
