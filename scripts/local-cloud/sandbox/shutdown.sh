#!/bin/sh
# `shutdown`, `poweroff`, `halt` and `reboot` of a local machine, by the name they are called with: ask
# the machine's host for it, which then does what an ACPI power-off does. MACHINE_BOOT is the folder of
# this boot. The time of `shutdown` is taken as now.
request=poweroff
case ${0##*/} in
  reboot) request=reboot ;;
  shutdown)
    for word in "$@"; do
      case $word in
        -r | --reboot) request=reboot ;;
        -c)
          echo "shutdown: a local machine goes down at once; there is nothing to cancel" >&2
          exit 1
          ;;
      esac
    done
    ;;
esac
echo "$request" >"$MACHINE_BOOT/power-request"
