# shellcheck shell=bash
# Files from and to Cloud Storage: package, inputs, outputs. Eight at a time.

TRANSFERS_AT_ONCE=8
# The marker is read by functions: at most so many characters of it list outputs.
OUTPUTS_CHARACTERS_MAX=131072

md5_of() { (md5sum || md5 -q) <"$1" 2>/dev/null; }
sha256_of() { (sha256sum || shasum -a 256) <"$1" 2>/dev/null; }

# in_batches COUNT COMMAND…: runs the command with 0 … COUNT-1; fails when one of them has failed.
in_batches() {
  local count=$1 index=0 pids pid failed=0
  shift
  while ((index < count && failed == 0)); do
    pids=()
    while ((index < count && ${#pids[@]} < TRANSFERS_AT_ONCE)); do
      "$@" "$index" &
      pids+=("$!")
      index=$((index + 1))
    done
    for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
  done
  return "$failed"
}

# move UNTIL METHOD URL [curl's options…]: a call that may take long, as long as bytes flow.
move() {
  local CALL_SECONDS
  tell_time
  CALL_SECONDS=$(($1 > NOW ? $1 - NOW : 1))
  google "${@:2}" --speed-limit 1 --speed-time "$STALL_SECONDS"
}

# download BUCKET OBJECT GENERATION FILE: one try; any generation when it is empty.
download() {
  address "$1" "$2"
  move "$WORK_END" GET "$OBJECT_URL?alt=media${3:+&generation=$3}" --output "$4" || judge
}

fetch_package() {
  local archive="$WORK_DIR/package.tar.gz" sum
  mkdir -p "$WORK_DIR/package"
  [[ -n $PACKAGE_OBJECT ]] || return 0
  persist "$WORK_END" "$TRIES" download "$PACKAGE_BUCKET" "$PACKAGE_OBJECT" '' "$archive" ||
    fail "package: gs://$PACKAGE_BUCKET/$PACKAGE_OBJECT was not downloaded"
  sum=$(sha256_of "$archive")
  [[ ${sum%% *} == "$PACKAGE_SHA256" ]] ||
    fail "package: its sha256 is ${sum%% *}, the request says $PACKAGE_SHA256"
  bounded "$DOCKER_SECONDS" tar -xzf "$archive" --no-same-owner -C "$WORK_DIR/package" ||
    fail "package: gs://$PACKAGE_BUCKET/$PACKAGE_OBJECT could not be unpacked"
  rm -f "$archive"
}

fetch_inputs() {
  in_batches "${#INPUT_OBJECTS[@]}" fetch_input || fail "the inputs were not all downloaded"
}

# Exactly the generation that planning saw, whole.
fetch_input() {
  local file="$WORK_DIR/inputs/${INPUT_FILES[$1]}" uri bytes
  uri="gs://${INPUT_BUCKETS[$1]}/${INPUT_OBJECTS[$1]}"
  # Object names come from outside; none may leave its folder.
  [[ "/${INPUT_FILES[$1]}/" != */../* ]] || fail "input $uri: refused, its name has a '..' part"
  if [[ $file == */ ]]; then
    mkdir -p "$file"
    return 0
  fi
  mkdir -p "${file%/*}"
  persist "$WORK_END" "$TRIES" download "${INPUT_BUCKETS[$1]}" "${INPUT_OBJECTS[$1]}" \
    "${INPUT_GENERATIONS[$1]}" "$file" || fail "input $uri: not downloaded"
  bytes=$(wc -c <"$file")
  ((bytes == INPUT_BYTES[$1])) || fail "input $uri: $((bytes)) bytes came, it has ${INPUT_BYTES[$1]}"
}

# Every regular file under the output folders; links are not followed, they could name files of the machine.
send_outputs() {
  local index file
  FILES=() FILE_FOLDERS=() OUTPUTS='[]'
  for ((index = 0; index < ${#OUTPUT_PATHS[@]}; index++)); do
    while IFS= read -r -d '' file; do
      FILES+=("$file") FILE_FOLDERS+=("$index")
    done < <(find "$WORK_DIR/outputs/$index" -type f -print0 | sort -z)
  done
  mkdir -p "$WORK_DIR/sent"
  in_batches "${#FILES[@]}" send_output || fail "the outputs were not all uploaded"
  list_outputs
}

# Tried until the machine's end: finished work must not be lost to a service that is down for a while.
send_output() {
  persist "$((TTL_SECONDS - REPORT_MARGIN_SECONDS))" 1000000 upload "$1" && return 0
  say "output ${FILES[$1]#"$WORK_DIR"/outputs/}: not uploaded"
  return 1
}

upload() {
  local file=${FILES[$1]} folder=${FILE_FOLDERS[$1]} bucket name md5 path
  bucket=${OUTPUT_BUCKETS[folder]}
  name=${file#"$WORK_DIR/outputs/$folder/"}
  address "$bucket" "${OUTPUT_PREFIXES[folder]}$name"
  if ! move "$((TTL_SECONDS - REPORT_MARGIN_SECONDS))" POST "$UPLOAD_URL" --upload-file "$file" \
    --header 'Content-Type: application/octet-stream' --header 'Expect:'; then
    judge || return "$?"
  fi
  md5=$(md5_of "$file")
  reply_field md5Hash
  if [[ $(printf '%s' "$FIELD" | base64 -d | od -An -v -tx1 | tr -d ' \n') != "${md5%% *}" ]]; then
    say "output $name: the server's md5 is $FIELD, the file's is ${md5%% *}"
    return 1
  fi
  to_json "${OUTPUT_PATHS[folder]%/}/$name" && path=$JSON
  to_json "gs://$bucket/${OUTPUT_PREFIXES[folder]}$name"
  JSON="{\"path\":$path,\"uri\":$JSON"
  reply_field generation && JSON+=",\"generation\":\"$FIELD\""
  reply_field crc32c && JSON+=",\"crc32c\":\"$FIELD\""
  printf '%s' "$JSON,\"bytes\":$(($(wc -c <"$file")))}" >"$WORK_DIR/sent/$1"
}

# A text field of the JSON object in REPLY, in FIELD.
reply_field() {
  FIELD=''
  [[ ! $REPLY =~ \"$1\":[[:space:]]*\"([^\"]*)\" ]] || FIELD=${BASH_REMATCH[1]}
}

list_outputs() {
  local index item list=''
  for ((index = 0; index < ${#FILES[@]} && ${#list} < OUTPUTS_CHARACTERS_MAX; index++)); do
    read -r item <"$WORK_DIR/sent/$index" || true
    list+="${list:+,}$item"
  done
  OUTPUTS="[$list]"
}
