# shellcheck shell=bash
# The request's inputs: exactly the generations that planning saw, whole.

fetch_inputs() {
  in_batches "${#INPUT_OBJECTS[@]}" fetch_input || give_up "$?" "the inputs were not all downloaded"
}

fetch_input() {
  local file="$WORK_DIR/inputs/${INPUT_FILES[$1]}" uri bytes sum code=0
  uri="gs://${INPUT_BUCKETS[$1]}/${INPUT_OBJECTS[$1]}"
  # Object names come from outside; none may leave its folder.
  if [[ "/${INPUT_FILES[$1]}/" == */../* ]]; then
    say "input $uri: refused, its name has a '..' part"
    return 2
  fi
  if [[ $file == */ ]]; then
    mkdir -p "$file"
    return 0
  fi
  mkdir -p "${file%/*}"
  persist "$WORK_END" "$TRIES" fetch_whole "$1" "$file" || code=$?
  ((code == 0)) || say "input $uri: not downloaded"
  return "$code"
}

# One try. The server's MD5 stands in a header, but for objects that were composed of others.
fetch_whole() {
  local bytes sum
  download "${INPUT_BUCKETS[$1]}" "${INPUT_OBJECTS[$1]}" "${INPUT_GENERATIONS[$1]}" "$2" || return
  bytes=$(wc -c <"$2")
  if ((bytes != INPUT_BYTES[$1])); then
    say "$((bytes)) bytes came, it has ${INPUT_BYTES[$1]}"
    return 1
  fi
  if [[ $(<"$2.headers") =~ [Xx]-[Gg]oog-[Hh]ash:[^$'\n']*md5=([A-Za-z0-9+/=]+) ]]; then
    sum=$(md5_of "$2")
    if [[ $(to_hex "${BASH_REMATCH[1]}") != "${sum%% *}" ]]; then
      say "its md5 is ${sum%% *}, the server says ${BASH_REMATCH[1]}"
      return 1
    fi
  fi
  rm -f "$2.headers"
}

mount_inputs() {
  local index
  for index in "${!INPUT_PATHS[@]}"; do
    # A prefix may have held no object.
    [[ -e $WORK_DIR/inputs/$index ]] || mkdir -p "$WORK_DIR/inputs/$index"
    add_mount "$WORK_DIR/inputs/$index" "${INPUT_PATHS[index]}" readonly
  done
}
