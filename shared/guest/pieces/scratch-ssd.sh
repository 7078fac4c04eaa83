# shellcheck shell=bash
# Local SSDs as one striped scratch folder.

mount_scratch() {
  local disks=("$LOCAL_SSDS"*) disk
  [[ -n $LOCAL_SSDS ]] || return 0
  [[ -e ${disks[0]} ]] || refuse "no local SSD is there: nothing at $LOCAL_SSDS*"
  disk=${disks[0]}
  if ((${#disks[@]} > 1)); then
    disk=/dev/md0
    bounded "$DOCKER_SECONDS" mdadm --create "$disk" --run --force --level=0 \
      --raid-devices="${#disks[@]}" "${disks[@]}" || refuse "the local SSDs could not be striped"
  fi
  mkdir -p "$WORK_DIR/scratch"
  bounded "$DOCKER_SECONDS" mkfs.ext4 -q -F -m 0 -E nodiscard "$disk" ||
    refuse "the local SSDs could not be formatted"
  mount -o noatime,discard "$disk" "$WORK_DIR/scratch" || refuse "the local SSDs could not be mounted"
}
