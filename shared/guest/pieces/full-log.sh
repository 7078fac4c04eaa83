# shellcheck shell=bash
# The container's full output to Cloud Logging, an entry a line, a batch at a time. It is for people: what
# is not accepted is counted and said, and never stops the run.

# Characters of one batch: with all of them escaped a line is still below the 256 KiB of an entry.
BATCH_CHARACTERS=100000
LOG_TRIES=3
LOG_FINISH_SECONDS=15

start_full_log() {
  local name
  [[ -n $LOGGING_URL ]] || return 0
  to_json "$INSTANCE" && name=$JSON
  to_json "$RUN_ID"
  LOG_HEAD="{\"logName\":\"projects/$PROJECT/logs/mayfly-container\",\"partialSuccess\":true"
  LOG_HEAD+=",\"labels\":{\"run_id\":$JSON,\"attempt\":\"$ATTEMPT\",\"instance\":$name}"
  LOG_HEAD+=",\"resource\":{\"type\":\"gce_instance\",\"labels\":{\"project_id\":\"$PROJECT\""
  LOG_HEAD+=",\"zone\":\"$ZONE\",\"instance_id\":\"$INSTANCE_ID\"}},\"entries\":["
  # Until the container has ended and all of it is read.
  send_lines < <(docker logs --follow --timestamps "$INSTANCE" 2>&1) &
  FULL_LOG=$!
}

# A moment for the last lines, when the container has ended by itself.
finish_full_log() {
  local left=$((LOG_FINISH_SECONDS * 10))
  [[ -n ${FULL_LOG:-} && -n $ENDED ]] || return 0
  while ((left-- > 0)) && kill -0 "$FULL_LOG" 2>/dev/null; do pause_ms 100; done
}

# Whole lines as they come; what has no end of line in a full batch is cut.
send_lines() {
  local part='' lines='' code batch=0
  while :; do
    code=0
    # Past its time `read` gives what has come, with a code above 128; at the end of all the code is 1.
    IFS= read -r -t "$LOG_BATCH_SECONDS" -N "$((BATCH_CHARACTERS - ${#lines}))" part || code=$?
    lines+=$part part=''
    if [[ $lines == *$'\n'* ]]; then
      part=${lines%$'\n'*} lines=${lines##*$'\n'}
    elif ((${#lines} >= BATCH_CHARACTERS || code == 1)); then
      part=$lines lines=''
    fi
    batch=$((batch + 1))
    [[ -z $part ]] || send_batch "$batch" "$part" || { cat >/dev/null && return 0; }
    ((code != 1 || ${#lines} > 0)) || break
  done
}

# A final no ends the sending; a batch that is only late is left out.
send_batch() {
  local code=0
  to_entries "$1" < <(printf '%s\n' "$2") >"$RUN_DIR/batch.json"
  persist "$TTL_SECONDS" "$LOG_TRIES" write_entries || code=$?
  if ((code == 2)) && [[ $CODE == 400 ]]; then
    # A byte that is not UTF-8: plain letters will do.
    tr '\200-\377' '?' <"$RUN_DIR/batch.json" >"$RUN_DIR/plain.json"
    mv "$RUN_DIR/plain.json" "$RUN_DIR/batch.json"
    persist "$TTL_SECONDS" "$LOG_TRIES" write_entries && return 0 || code=$?
  fi
  ((code == 0)) || say "full log: batch $1 was not accepted: HTTP $CODE"
  ((code != 2))
}

write_entries() {
  google POST "$LOGGING_URL/v2/entries:write" --header 'Content-Type: application/json' \
    --data-binary "@$RUN_DIR/batch.json" || judge
}

# to_entries BATCH: lines of docker's log, each with its time in front, as the request's body. Numbers
# make a repeated batch the same entries.
to_entries() {
  local tab=$'\t'
  local head="{$LOG_TRACE\"insertId\":\"$INSTANCE-$1-\\1\""
  printf '%s' "$LOG_HEAD"
  tr -d '\000-\010\013-\037\177' | sed -E "s/[\"\\\\]/\\\\&/g;s/$tab/\\\\t/g" | cat -n |
    sed -E "s|^ *([0-9]+)$tab([0-9]{4}-[0-9T:.-]+Z) ?(.*)\$|$head,\"timestamp\":\"\\2\",\"textPayload\":\"\\3\"},|;t
s|^ *([0-9]+)$tab(.*)\$|$head,\"textPayload\":\"\\2\"},|" | sed '$s/,$//'
  printf ']}'
}
