#!/bin/bash
# Plays `docker` for guest tests. STUB is its folder: every call's arguments go to calls/, NUL-separated;
# `fail-<command>` holds how often that command fails first, `<command>.sh` runs in its place at its start.
# The container is container.sh, run by bash with the arguments that the container would get.
set -u
command=$1
printf '%s\0' "$@" >"$STUB/calls/$EPOCHREALTIME.$$"
[[ ! -e $STUB/$command.sh ]] || source "$STUB/$command.sh"
if [[ -e $STUB/fail-$command ]]; then
  left=$(<"$STUB/fail-$command")
  if ((left > 0)); then
    echo "$((left - 1))" >"$STUB/fail-$command"
    echo "docker $command: planted failure" >&2
    exit 1
  fi
fi
case $command in
  login)
    cat >"$STUB/password"
    mkdir -p "$DOCKER_CONFIG" && echo '{}' >"$DOCKER_CONFIG/config.json"
    stat -c '%a' "$HOME" >"$STUB/home-mode"
    echo "$DOCKER_CONFIG" >"$STUB/docker-config"
    ;;
  pull) : >"$STUB/pulled" ;;
  image) echo "amd64||host/repo@sha256:$(printf 'ab%.0s' {1..32}) " ;;
  run)
    (
      exec </dev/null >"$STUB/stdout" 2>"$STUB/stderr"
      bash "$STUB/container.sh" &
      echo "$!" >"$STUB/container-pid"
      wait "$!"
      code=$?
      sleep 0.02
      echo "$code" >"$STUB/exit.new" && mv "$STUB/exit.new" "$STUB/exit"
    ) &
    until [[ -s $STUB/container-pid ]]; do sleep 0.01; done
    echo 0123456789ab
    ;;
  wait)
    until [[ -e $STUB/exit ]]; do sleep 0.02; done
    cat "$STUB/exit"
    ;;
  stop)
    # docker stop -t SECONDS NAME
    kill -TERM "$(<"$STUB/container-pid")"
    for ((left = $3 * 20; left > 0; left--)); do
      [[ ! -e $STUB/exit ]] || exit 0
      sleep 0.05
    done
    kill -KILL "$(<"$STUB/container-pid")"
    ;;
  logs)
    cat "$STUB/stdout"
    cat "$STUB/stderr" >&2
    ;;
  inspect) cat "$STUB/oom-killed" 2>/dev/null || echo false ;;
esac
