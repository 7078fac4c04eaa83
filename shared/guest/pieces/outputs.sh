# shellcheck shell=bash
# The files that the container left in its output folders, uploaded and verified.

# The marker is read by functions: at most so many characters of it list outputs.
OUTPUTS_CHARACTERS_MAX=131072

# Every regular file under the output folders; links are not followed, they could name files of the machine.
send_outputs() {
  local index file
  FILES=() FILE_FOLDERS=()
  for ((index = 0; index < ${#OUTPUT_PATHS[@]}; index++)); do
    while IFS= read -r -d '' file; do
      FILES+=("$file") FILE_FOLDERS+=("$index")
    done < <(find "$WORK_DIR/outputs/$index" -type f -print0 | sort -z)
  done
  mkdir -p "$WORK_DIR/sent"
  in_batches "${#FILES[@]}" send_output || give_up "$?" "the outputs were not all uploaded"
  list_outputs
}

# Tried until the machine's end: finished work must not be lost to a service that is down for a while.
send_output() {
  local code=0
  persist "$((TTL_SECONDS - REPORT_MARGIN_SECONDS))" 1000000 upload "$1" || code=$?
  ((code == 0)) || say "output ${FILES[$1]#"$WORK_DIR"/outputs/}: not uploaded"
  return "$code"
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
  if [[ $(to_hex "$FIELD") != "${md5%% *}" ]]; then
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

mount_outputs() {
  local index
  for index in "${!OUTPUT_PATHS[@]}"; do
    mkdir -p "$WORK_DIR/outputs/$index"
    chmod 1777 "$WORK_DIR/outputs/$index"
    add_mount "$WORK_DIR/outputs/$index" "${OUTPUT_PATHS[index]}"
  done
}
