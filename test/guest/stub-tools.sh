#!/bin/bash
# Plays the programs of the tools step, each under its own name. STUB is its folder: a call's program and
# arguments go to calls/, NUL-separated, what it was told by its environment to environment/ under the
# same name. `PROGRAM-COMMAND.sh`, or `PROGRAM.sh`, runs in the program's place at its start.
# Until the uptime in `locked-until` another process has the locks; a look at them takes 30 seconds.
set -u
program=${0##*/}
call=$EPOCHREALTIME.$$
printf '%s\0' "$program" "$@" >"$STUB/calls/$call"
printf '%s\n' "GNUPGHOME=${GNUPGHOME:-}" "DEBIAN_FRONTEND=${DEBIAN_FRONTEND:-}" \
  "NEEDRESTART_SUSPEND=${NEEDRESTART_SUSPEND:-}" >"$STUB/environment/$call"

# The first argument that is neither an option nor the value of -o.
command='' last=''
for word in "$@"; do
  [[ -n $command || $word == -* || $last == -o ]] || command=$word
  last=$word
done
[[ ! -e $STUB/$program.sh ]] || source "$STUB/$program.sh"
[[ ! -e $STUB/$program-$command.sh ]] || source "$STUB/$program-$command.sh"

locked() { # MESSAGE CODE
  local now
  read -r now _ <"$STUB/uptime"
  ((now < $(cat "$STUB/locked-until" 2>/dev/null || echo 0))) || return 0
  echo "$((now + 30)) 0" >"$STUB/uptime"
  echo "$1" >&2
  exit "$2"
}

bring() {
  local name
  for name in "$@"; do [[ -e $BIN/$name ]] || ln -s "$STUB/program" "$BIN/$name"; done
}

case "$program $command" in
  'dpkg '*)
    if [[ $* == --print-architecture ]]; then
      cat "$STUB/architecture"
    else
      locked 'dpkg: error: dpkg frontend lock was locked by another process with pid 4711' 2
      : >"$STUB/repaired"
    fi
    ;;
  'apt-get update')
    locked 'E: Could not get lock /var/lib/apt/lists/lock. It is held by process 4711 (apt-get)' 100
    ;;
  'apt-get install')
    locked 'E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 4711 (unattended-upgr)' 100
    [[ " $* " != *' docker-ce '* ]] || bring docker dockerd containerd
    [[ " $* " != *' nvidia-container-toolkit '* ]] ||
      bring nvidia-ctk nvidia-container-runtime-hook nvidia-container-cli
    ;;
  'apt-cache policy') printf '%s:\n  Installed: (none)\n  Candidate: 5:28.1-1\n' "$2" ;;
  'curl '*)
    for word in "$@"; do
      [[ $last != --output ]] || output=$word
      last=$word
    done
    cp "$STUB/keys-of-${last##*/}" "$output"
    ;;
  'gpg '*) exec /usr/bin/gpg "$@" ;;
  'nvidia-ctk runtime') : >"$STUB/configured" ;;
  'systemctl restart')
    [[ ! -e $STUB/configured ]] || : >"$STUB/with-nvidia"
    : >"$STUB/active"
    ;;
  'systemctl is-active') [[ -e $STUB/active ]] || exit 3 ;;
  'docker info')
    [[ -e $STUB/active ]] || { echo 'Cannot connect to the Docker daemon' >&2 && exit 1; }
    nvidia=''
    [[ ! -e $STUB/with-nvidia ]] || nvidia='"nvidia":{"path":"nvidia-container-runtime"},'
    echo "{\"io.containerd.runc.v2\":{\"path\":\"runc\"},$nvidia\"runc\":{\"path\":\"runc\"}}"
    ;;
  'docker image') cat "$STUB/image-env" ;;
  'cos-extensions install')
    echo 'I0825 16:07:31.625556 1007 install.go:74] Running on COS build id 19000.1.2'
    mkdir -p "$BIN/../driver/bin"
    ln -sf "$STUB/program" "$BIN/../driver/bin/nvidia-smi"
    ;;
  'nvidia-smi '*)
    if [[ $* == --list-gpus ]]; then
      for ((card = 0; card < $(<"$STUB/cards"); card++)); do
        echo "GPU $card: Tesla T4 (UUID: GPU-8c1a7f2e-0000-4000-8000-00000000000$card)"
      done
    else
      cat "$STUB/use"
    fi
    ;;
esac
