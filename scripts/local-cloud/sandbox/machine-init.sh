#!/bin/bash
# Process 1 of a machine's own network, mount and process namespaces. It sets them up, starts the relay,
# collects ended processes, and ends with the relay; everything in the namespaces ends with it.
# Arguments: BOOT_ID_FILE HOSTS_FILE RELAY_COMMAND…
set -euo pipefail

boot_id_file=$1 hosts_file=$2
shift 2

# Before the new /proc is there: this process's number as the computer sees it.
read -r outer_pid _ </proc/self/stat
mount -t proc proc /proc
mount --bind "$boot_id_file" /proc/sys/kernel/random/boot_id
mount --bind "$hosts_file" /etc/hosts
ip link set lo up
ip address add 169.254.169.254/32 dev lo
echo "init $outer_pid"

# The local cloud holds the other end of stdin: the relay sees it close.
"$@" <&0 &
wait "$!"
