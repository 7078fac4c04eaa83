# shellcheck shell=bash
# The end, however it came: the container stopped, the true cause reported, the machine deleted.

DETAIL_LINES=25
DETAIL_CHARACTERS=800
# Three bytes of UTF-8 at most become one UTF-16 unit; some more, for blank lines at the end.
DETAIL_BYTES=2600
ATTRIBUTE_BYTES=4096

# Runs once, and no signal ends it half way. (In a trap a bare `return` gives the code from before the
# trap: the functions that are called here return explicit ones.)
clean_up() {
  # A child that a signal meets right after its fork still has these traps.
  [[ ${BASHPID:-$$} == "$$" ]] || exit 0
  trap - EXIT
  trap '' TERM HUP INT USR1 USR2 ALRM
  set +e
  end_helpers
  [[ $CLAIM_STATE != asked ]] || persist "$TTL_SECONDS" "$TRIES" read_claim
  if [[ $CLAIM_STATE == won || $CLAIM_STATE == second-boot ]]; then
    [[ -n $REPORTED ]] || report_end
  elif [[ -n $INTERRUPTED ]]; then
    # Nothing was begun, so the next boot may begin: not ours to delete.
    rm -rf "${RUN_DIR:?}/home" "$RUN_DIR/boot-$BOOT_ID"
    exit 0
  else
    write_failure
  fi
  rm -rf "${RUN_DIR:?}/home" "$RUN_DIR/secrets"
  # All is said: a shutdown script has nothing to wait for and nothing to add, while the machine bills.
  [[ $REPORTED != accepted ]] || rm -f "$RUN_DIR/process" "$RUN_DIR/claimed"
  # The control plane deletes the machine once it has read the report; this is for when it does not.
  [[ $REPORTED != accepted || -n $INTERRUPTED ]] || sleep "$(linger)"
  delete_machine
  rm -f "$RUN_DIR/process"
}

# How long the machine stays after its report, in seconds: a failed one as long as somebody wants to look.
linger() {
  local seconds=$SELF_DELETE_DELAY_SECONDS
  [[ $CAUSE == exit && $EXIT_CODE == 0 ]] || ((KEEP_SECONDS <= seconds)) || seconds=$KEEP_SECONDS
  echo "$seconds"
}

end_helpers() {
  local pid
  for pid in $(jobs -p); do
    [[ -n $ENDED && $pid == "${FULL_LOG:-}" ]] || kill "$pid" 2>/dev/null
  done
  # A beat that is being sent must not land after the last log.
  [[ -z ${HEART:-} || -n $INTERRUPTED ]] || wait "$HEART"
}

# CAUSE, when the container's own end or a limit has not decided it. (The exit code stays null unless
# the container ended by itself.)
decide_cause() {
  [[ -z $CAUSE ]] || return 0
  CAUSE=step-failed
  # What failed while the machine is going down failed because of that.
  [[ -n $INTERRUPTED ]] || ! is_stopping || INTERRUPTED=power-off
  [[ $CLAIM_STATE != second-boot && -z $INTERRUPTED ]] || CAUSE=interrupted
  [[ -n $INTERRUPTED ]] || return 0
  if metadata instance/preempted && [[ $REPLY == TRUE ]]; then CAUSE=preempted; fi
}

report_end() {
  local status=FAILED stop=''
  decide_cause
  [[ $CAUSE != exit || $EXIT_CODE != 0 ]] || status=SUCCEEDED
  if [[ -n $STARTED && -z $ENDED ]]; then
    if [[ -n $INTERRUPTED ]]; then
      # The network goes soon: the report does not wait for the container's end.
      stop_container "$INTERRUPT_GRACE_SECONDS" &
      stop=$!
    else
      stop_container "$STOP_GRACE_SECONDS"
    fi
  fi
  [[ -z $STARTED || -n $INTERRUPTED ]] || persist "$TTL_SECONDS" "$TRIES" send_log
  finish_full_log
  [[ -z $STARTED ]] || read_peak_memory
  make_detail
  make_marker "$status" "$CAUSE" "$JSON" "$OUTPUTS" "$NONCE"
  say "report: $status $CAUSE $EXIT_CODE in step $STEP"
  [[ $status == SUCCEEDED ]] || write_failure
  persist "$TTL_SECONDS" 1000000 write_marker
  case $? in 0) REPORTED=accepted ;; 3) REPORTED=already ;; *) REPORTED=no ;; esac
  say "report: $REPORTED"
  [[ -z $stop ]] || { wait "$stop"; send_log; }
}

# Beside the marker, for readers that have the machine alone. The detail first: who sees the status has both.
write_failure() {
  tail -c "$ATTRIBUTE_BYTES" "$RUN_DIR/steps.log" >"$RUN_DIR/attribute"
  write_guest_attribute detail "@$RUN_DIR/attribute"
  write_guest_attribute status "failed:$STEP"
}

# The last lines of the container, or of the steps where one of them failed or the machine was taken from
# a container that had said nothing, in JSON. Where such a container ended by itself or by a limit the
# detail is empty: our own lines would pass for its words.
make_detail() {
  JSON='""'
  [[ $CAUSE == step-failed || $EXEC_START_EPOCH == null ]] ||
    last_of < <(container_log | tail -c "$LOG_BYTES")
  [[ $JSON != '""' || $EXEC_START_EPOCH != null && $CAUSE != @(step-failed|interrupted|preempted) ]] ||
    last_of <"$RUN_DIR/steps.log"
  hint_at_metadata
}

last_of() {
  bytes_to_json "$DETAIL_CHARACTERS" < <(tail -n "$DETAIL_LINES" | tail -c "$DETAIL_BYTES")
}
