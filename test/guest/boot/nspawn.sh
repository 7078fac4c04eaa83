#!/bin/bash
# Boots the root folder ROOT with systemd as process 1 and the folder USR as its /usr, in this process's
# network, and in control groups named NAME, which the caller removes when all is over. The console is
# standard output. The mount namespace that it is started in belongs to the machine alone.
# Usage (as root): nspawn.sh NAME ROOT USR
set -euo pipefail

name=$1 root=$2 usr=$3
# One hierarchy, or the old ones: the machine needs systemd's own and, where it is mounted, version 2.
for folder in /sys/fs/cgroup /sys/fs/cgroup/systemd /sys/fs/cgroup/unified; do
  [[ -e $folder/cgroup.procs ]] || continue
  mkdir -p "$folder/$name"
  echo "$$" >"$folder/$name/cgroup.procs"
done
# What systemd-nspawn keeps about a machine goes with this mount namespace, even when it is killed.
mkdir -p /run/systemd/nspawn
mount -t tmpfs tmpfs /run/systemd/nspawn
# Docker wants version 2 or everything writable; its containers need every capability of this computer.
export SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 SYSTEMD_SECCOMP=0
exec systemd-nspawn --quiet --register=no --keep-unit --directory="$root" --capability=all \
  --bind-ro="$usr:/usr" --network-namespace-path=/proc/self/ns/net --console=pipe --boot \
  systemd.mask=systemd-networkd.service systemd.mask=systemd-sysctl.service </dev/null
