# shellcheck shell=bash
# The first lines of the startup script: output that no reader can break, one start a boot, the work as
# a unit of its own, and the traps.

# Output goes to a file before anything else: at a power-off the runner's pipe has no reader any more,
# and the first echo would end this script without a trace. What is written here is private, starts
# empty, and is in memory, so that a full disk does not stop it. Descriptor 3 is the unit's journal.
(umask 077 && mkdir -p "$RUN_DIR" "$WORK_DIR") 2>/dev/null || true
exec 3>/dev/null </dev/null
[[ -z ${MAYFLY_UNIT:-} ]] || exec 3>&1

# systemd stops a unit that is ordered after docker before docker, while the network is still there; the
# startup runner's own children learn of a power-off only when both are gone.
if [[ -n $WORK_UNIT && -z ${MAYFLY_UNIT:-} && -d /run/systemd/system ]]; then
  cp "$0" "$RUN_DIR/work" && systemd-run --quiet --collect --unit="$WORK_UNIT" --setenv=MAYFLY_UNIT=1 \
    -p After=docker.service -p After=network-online.target -p Wants=docker.service -p KillMode=mixed \
    -p TimeoutStopSec="$UNIT_STOP_SECONDS" -p StandardOutput=journal+console -p OOMScoreAdjust=-500 \
    /bin/bash "$RUN_DIR/work" && exit 0
  # A second start in one boot finds the unit; anything else has to work without one.
  ! systemctl is-active --quiet "$WORK_UNIT" || exit 0
fi
BOOT_ID=$(cat "$BOOT_ID_FILE") || true
[[ ! -e $RUN_DIR/boot-$BOOT_ID ]] || exit 0
exec 2>/dev/null
mkdir "$RUN_DIR/boot-$BOOT_ID" || true
: >"$RUN_DIR/steps.log" || true
exec >>"$RUN_DIR/steps.log" 2>&1 || exec >/dev/null 2>&1
trap clean_up EXIT
trap 'INTERRUPTED=TERM; exit 143' TERM
trap 'INTERRUPTED=HUP; exit 129' HUP
trap 'INTERRUPTED=INT; exit 130' INT
trap 'CAUSE=timeout; exit 1' USR1
trap 'CAUSE=ttl; exit 1' USR2
trap 'CAUSE=gpu-idle; exit 1' ALRM
