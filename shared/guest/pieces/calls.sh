# shellcheck shell=bash
# Calls to the metadata server and to Google's services: each has a time limit, and who repeats one
# does it through `persist`. A call leaves its status in CODE (000: no reply), its body in REPLY, and
# curl's exit code in CALL_CODE.

METADATA_URL="http://${GCE_METADATA_HOST:-169.254.169.254}/computeMetadata/v1"
TOKEN='' TOKEN_UNTIL=0
# Bytes, not characters: texts are handled by their bytes everywhere.
export LC_ALL=C

# Where there is no timeout program, docker's and curl's own limits must do.
command -v timeout >/dev/null || timeout() { shift 3 && "$@"; }

# Seconds since boot, which no change of the clock moves, in NOW; without /proc the shell's own count.
tell_time() {
  NOW=''
  read -r NOW _ 2>/dev/null <"$UPTIME_FILE" || true
  NOW=${NOW%%.*}
  NOW=${NOW:-$SECONDS}
}

# A line for the step log, and for the unit's journal.
say() {
  tell_time
  echo "[$NOW s] $*"
  echo "[$NOW s] $*" >&3 || true
}

# End the script with a message that reaches the marker's detail: `fail` when another try might do
# better, `refuse` when it would end the same way, `give_up CODE …` by the code of `persist`.
fail() {
  say "$*"
  exit 1
}

refuse() {
  PERMANENT=true
  fail "$@"
}

give_up() {
  (($1 == 1)) || PERMANENT=true
  fail "${@:2}"
}

# Waits in the background, so that a signal is handled at once.
pause_ms() {
  sleep "$(($1 / 1000)).$(printf '%03d' "$(($1 % 1000))")" &
  wait "$!"
}

# bounded SECONDS COMMAND…: kills the command when its time is up; signals are handled meanwhile.
bounded() {
  local seconds=$1 code=0
  shift
  timeout --foreground --signal=KILL "$seconds" "$@" <&0 &
  wait "$!" || code=$?
  return "$code"
}

# persist UNTIL TRIES COMMAND…: repeats a command that answers 1 (may pass), with growing waits. Every
# other answer is final. UNTIL is in seconds since boot.
persist() {
  local until=$1 tries=$2 wait_ms=$BACKOFF_MS code
  shift 2
  while :; do
    code=0
    "$@" || code=$?
    ((code == 1 && --tries > 0)) || return "$code"
    tell_time
    ((NOW < until)) || return 1
    pause_ms "$wait_ms"
    wait_ms=$((wait_ms * 2 < BACKOFF_MAX_MS ? wait_ms * 2 : BACKOFF_MAX_MS))
  done
}

# call METHOD URL [curl's options…]
call() {
  local method=$1 url=$2 reply
  CALL_CODE=0
  shift 2
  if reply=$(curl -q --silent --show-error --globoff --connect-timeout "$CONNECT_SECONDS" \
    --max-time "$CALL_SECONDS" --request "$method" --write-out '\n%{http_code}' "$@" "$url"); then
    CODE=${reply##*$'\n'} REPLY=${reply%$'\n'*}
  else
    CALL_CODE=$?
    CODE=000 REPLY=''
  fi
  [[ $CODE == 2?? ]] && return 0
  say "$method ${url%%\?*}: HTTP $CODE ${REPLY:0:200}"
  return 1
}

metadata() {
  call GET "$METADATA_URL/$1" --noproxy '*' --header 'Metadata-Flavor: Google'
}

# Readable with the machine, and with it alone, for as long as it exists.
write_guest_attribute() {
  call PUT "$METADATA_URL/instance/guest-attributes/mayfly/$1" --noproxy '*' \
    --header 'Metadata-Flavor: Google' --data-binary "$2"
}

# A token that is good for the next call, in TOKEN. Neither python3 nor jq is on every boot image.
refresh_token() {
  tell_time
  [[ -n $TOKEN && $NOW -lt $TOKEN_UNTIL ]] && return 0
  metadata instance/service-accounts/default/token || return 1
  [[ $REPLY =~ \"expires_in\"[[:space:]]*:[[:space:]]*([0-9]+) ]] || return 1
  TOKEN_UNTIL=$((NOW + BASH_REMATCH[1] / 2))
  [[ $REPLY =~ \"access_token\"[[:space:]]*:[[:space:]]*\"([^\"]+)\" ]] || return 1
  TOKEN=${BASH_REMATCH[1]}
}

# The header that carries the token, for `--header @<(authorize)`: a command line can be read by all.
authorize() { printf 'Authorization: Bearer %s' "$TOKEN"; }

# google METHOD URL [curl's options…]: a call with the machine's token.
google() {
  if ! refresh_token; then
    # What the metadata server answered is no word about this call.
    CODE=000 REPLY=''
    return 1
  fi
  call "$@" --header @<(authorize)
}

# answers WITH: whether the reply has what only the service itself writes. A page of something on the way,
# whatever its status, is no answer.
answers() {
  [[ $REPLY != *"$1"* ]] || return 0
  CODE=000
  return 1
}

# put_json GENERATION TEXT: uploads the text as the object that `address` has named, if it still has that
# generation (0: if it is not there).
put_json() {
  google POST "$UPLOAD_URL&ifGenerationMatch=$1" --header 'Content-Type: application/json' \
    --data-binary @<(printf '%s' "$2") && answers '"generation"'
}

# After a call: 0 accepted, 1 may pass, 2 a final no. A refused token is replaced before the next try.
judge() {
  case $CODE in
    2??) return 0 ;;
    401) TOKEN='' && return 1 ;;
    000 | 408 | 429 | 5??) return 1 ;;
    *) return 2 ;;
  esac
}
