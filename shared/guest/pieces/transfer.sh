# shellcheck shell=bash
# Files from and to Cloud Storage, eight at a time.

TRANSFERS_AT_ONCE=8

md5_of() { (md5sum || md5 -q) <"$1" 2>/dev/null; }

# base64 of an MD5 sum, as the server writes it, to hexadecimal, as md5sum does.
to_hex() { printf '%s' "$1" | base64 -d | od -An -v -tx1 | tr -d ' \n'; }

# in_batches COUNT COMMAND…: runs the command with 0 … COUNT-1; the worst answer of all is the answer.
in_batches() {
  local count=$1 index=0 pids pid worst=0 code
  shift
  while ((index < count && worst == 0)); do
    pids=()
    while ((index < count && ${#pids[@]} < TRANSFERS_AT_ONCE)); do
      "$@" "$index" &
      pids+=("$!")
      index=$((index + 1))
    done
    for pid in "${pids[@]}"; do
      code=0
      wait "$pid" || code=$?
      ((code <= worst)) || worst=$code
    done
  done
  return "$worst"
}

# move UNTIL METHOD URL [curl's options…]: a call that may take long, as long as bytes flow.
move() {
  local CALL_SECONDS
  tell_time
  CALL_SECONDS=$(($1 > NOW ? $1 - NOW : 1))
  google "${@:2}" --speed-limit 1 --speed-time "$STALL_SECONDS"
}

# download BUCKET OBJECT GENERATION FILE: one try; any generation when it is empty. A disk that is full
# (curl's 23) will not be less so at the next try.
download() {
  address "$1" "$2"
  move "$WORK_END" GET "$OBJECT_URL?alt=media${3:+&generation=$3}" --output "$4" \
    --dump-header "$4.headers" && return 0
  ((CALL_CODE != 23)) || return 2
  judge
}
