#!/bin/sh
# The `systemctl` of a local machine: tells whether the machine is going down, and can power it off.
# There are no units here: docker counts as active, starting and stopping units changes nothing.
# MACHINE_BOOT is the folder of this boot.
quiet=
while [ $# -gt 0 ]; do
  case $1 in
    --quiet | -q) quiet=1 ;;
    -*) ;;
    *) break ;;
  esac
  shift
done

case ${1:-} in
  is-system-running)
    state=running
    [ ! -e "$MACHINE_BOOT/stopping" ] || state=stopping
    [ -n "$quiet" ] || echo "$state"
    [ "$state" = running ]
    ;;
  poweroff | halt) echo poweroff >"$MACHINE_BOOT/power-request" ;;
  reboot) echo reboot >"$MACHINE_BOOT/power-request" ;;
  is-active) [ -n "$quiet" ] || echo active ;;
  daemon-reload | start | stop | restart | enable | disable) ;;
  *)
    echo "systemctl: '${1:-}' is not a command of a local machine" >&2
    exit 1
    ;;
esac
