# shellcheck shell=bash
# The beginning, and the fence of an attempt: a create-only object. Whoever holds it alone may work or
# write markers.

# What this machine is, and where its objects are.
prepare() {
  [[ -n $BOOT_ID ]] || fail "this boot has no id: $BOOT_ID_FILE"
  WORK_DIR=$(cd "$WORK_DIR" && pwd) RUN_DIR=$(cd "$RUN_DIR" && pwd)
  tell_time
  BOOT_EPOCH=$(($(date +%s) - NOW))
  # Root's home is read-only on some images; credentials live in a folder that goes at the end.
  export HOME="$RUN_DIR/home" DOCKER_CONFIG="$RUN_DIR/home/.docker"
  (umask 077 && mkdir -p "$DOCKER_CONFIG")
  # For the shutdown script: who to wait for, and in which boot that number means this process.
  echo "$$ $BOOT_ID" >"$RUN_DIR/process"
  # An earlier boot's words must not stand for this one.
  write_guest_attribute status booting || true
  write_guest_attribute boot_id "$BOOT_ID" || true
  # Container-Optimized OS mounts /var without exec; a package may hold programs.
  if [[ $(findmnt -no OPTIONS -T "$WORK_DIR" 2>/dev/null) == *noexec* ]]; then
    mount --bind "$WORK_DIR" "$WORK_DIR" || true
    mount -o remount,bind,exec "$WORK_DIR" || say "$WORK_DIR stays without exec"
  fi
  persist "$TTL_SECONDS" "$TRIES" identify || fail "the metadata server does not answer"
}

identify() {
  metadata instance/id && [[ $REPLY =~ ^[0-9]+$ ]] && INSTANCE_ID=$REPLY
}

# Takes the claim, or learns whose it is: CLAIM_STATE is `won`, `second-boot` or `foreign`. Without an
# answer it asks until the machine's end: a machine without the claim does not work.
take_claim() {
  CLAIM='{"by":"machine","instanceId":"'$INSTANCE_ID'","zone":"'$ZONE'","bootId":"'$BOOT_ID'"'
  CLAIM+=',"nonceSha256":"'$NONCE_SHA256'"}'
  persist "$TTL_SECONDS" 1000000 try_claim || fail "no answer about the claim"
  say "claim: $CLAIM_STATE"
  case $CLAIM_STATE in
    second-boot) fail "the machine was started again after its run had begun" ;;
    foreign) fail "the attempt belongs to another holder" ;;
  esac
  echo "$BOOT_ID" >"$RUN_DIR/claimed"
}

# `asked`: from the first try on the claim may be ours without our knowing it.
try_claim() {
  CLAIM_STATE=asked
  address "$BUCKET" "$CLAIM_OBJECT"
  put_json 0 "$CLAIM" && CLAIM_STATE=won && return 0
  if [[ $CODE != 412 ]] && ! judge; then
    # All that a reader of this machine will find, if it stays like this.
    write_guest_attribute detail "claim: HTTP $CODE" || true
    return 1
  fi
  # A no to this question contradicts the answer before it: both are asked again.
  read_claim || return 1
}

read_claim() {
  address "$BUCKET" "$CLAIM_OBJECT"
  google GET "$OBJECT_URL?alt=media" || { judge || return; }
  if [[ $REPLY == "$CLAIM" ]]; then
    # Our own bytes: the first reply was lost.
    CLAIM_STATE=won
  elif [[ $REPLY =~ \"instanceId\":[[:space:]]*\""$INSTANCE_ID"\" ]]; then
    CLAIM_STATE=second-boot
  else
    CLAIM_STATE=foreign
  fi
}

# Says that work has begun. Bounded tries: the claim is the fence, and the end is reported in any case.
announce_running() {
  local code=0
  make_marker RUNNING '' '""' '[]' "$NONCE_SHA256"
  persist "$TTL_SECONDS" "$TRIES" write_marker || code=$?
  if ((code == 3)); then
    REPORTED=already
    fail "the attempt has ended already"
  fi
  return 0
}

# Beside the log, for the shutdown script: how far the run has come.
step() {
  STEP=$1
  say "step $STEP"
  echo "$STEP $BOOT_EPOCH $PULL_END_EPOCH $EXEC_START_EPOCH" >"$RUN_DIR/progress" || true
}
