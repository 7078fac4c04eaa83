#!/bin/bash
# A container engine of its own, in the network and mount namespaces that this script is started in: Docker
# on its ordinary socket, a registry, and a network outside where 169.254.169.254 is, and which leads no
# further. It says `ready PID PID-OUTSIDE` once all answer, and ends everything when its standard input does.
# Usage: engine.sh FOLDER WORLD DATA-BYTES; WORLD is `plain` or `cos`, DATA-BYTES bounds Docker's disk.
set -euo pipefail
folder=$1 world=$2 data_bytes=$3
# shellcheck source=test/guest/engine/cos-world.sh
source "${BASH_SOURCE[0]%/*}/cos-world.sh"

end_all() {
  set +e
  local containers
  containers=$(docker ps --quiet)
  [[ -z $containers ]] || xargs docker kill <<<"$containers"
  kill "${started[@]}"
  wait "${started[@]}"
  umount "$folder/data"
  # The group that the script puts its container into, where it is this engine's alone.
  rmdir /sys/fs/cgroup/*/mayfly /sys/fs/cgroup/mayfly
  rm -rf "$folder"
} >/dev/null 2>&1

# In the background; it ends with this script, however that ends.
begin() {
  setpriv --pdeathsig TERM "$@" &
  started+=("$!")
}

# The machine's one interface; what is sent to an address that nobody has is lost without a word.
make_network() {
  ip link set lo up
  begin unshare --net sleep infinity
  outside=$!
  until [[ $(readlink "/proc/$outside/ns/net") != "$(readlink /proc/self/ns/net)" ]]; do
    kill -0 "$outside"
    sleep 0.02
  done
  ip link add eth0 type veth peer name eth0 netns "$outside"
  ip address add 10.128.0.2/24 dev eth0
  ip link set eth0 up
  nsenter --target "$outside" --net -- sh -c 'ip link set lo up && ip link set eth0 up &&
    ip address add 10.128.0.1/24 dev eth0 && ip address add 169.254.169.254/32 dev lo'
  ip route add default via 10.128.0.1
}

started=()
mkdir -p "$folder/data" "$folder/registry"
trap end_all EXIT
make_network
[[ -z $data_bytes ]] || mount -t tmpfs -o "size=$data_bytes" tmpfs "$folder/data"
mount -t tmpfs tmpfs /run
data=$folder/data
if [[ $world == cos ]]; then
  make_cos_world "$folder"
  data=/var/lib/docker
fi
begin docker-registry serve "$folder/registry.yml" >"$folder/registry.log" 2>&1
begin dockerd --data-root "$data" --host unix:///run/docker.sock \
  --host "unix://$folder/docker.sock" >"$folder/dockerd.log" 2>&1
until docker version >/dev/null 2>&1 && [[ -S $folder/registry.sock ]]; do
  kill -0 "${started[@]}"
  sleep 0.05
done
echo "ready $$ $outside"
read -r || true
