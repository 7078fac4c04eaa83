# shellcheck shell=bash
# Texts for JSON and for URLs, made by the shell alone: the boot images have no JSON tool for sure.

# encode TEXT: percent-encoded with nothing safe but letters, digits and `-._~`, in ENCODED.
encode() {
  local text=$1 index byte
  ENCODED=''
  for ((index = 0; index < ${#text}; index++)); do
    byte=${text:index:1}
    if [[ $byte != [A-Za-z0-9._~-] ]]; then
      printf -v byte '%d' "'$byte"
      printf -v byte '%%%02X' "$((byte & 255))"
    fi
    ENCODED+=$byte
  done
}

# address BUCKET OBJECT: where the object is read, and where one of that name is uploaded.
address() {
  encode "$2"
  OBJECT_URL="$STORAGE_URL/storage/v1/b/$1/o/$ENCODED"
  UPLOAD_URL="$STORAGE_URL/upload/storage/v1/b/$1/o?uploadType=media&name=$ENCODED"
}

# to_json TEXT: a JSON string of it, in JSON.
to_json() {
  if [[ $1 == *[!\ -~]* || $1 == *[\\\"]* ]]; then
    bytes_to_json 100000 < <(printf '%s' "$1")
  else
    JSON="\"$1\""
  fi
}

# bytes_to_json UNITS: a JSON string, in JSON, of the end of standard input: at most so many UTF-16 units.
# Only ASCII is written, so the result is valid whatever the bytes are; what is not UTF-8 becomes U+FFFD,
# one for each longest beginning of a character, as browsers do it.
bytes_to_json() {
  local bytes=() pieces=() byte piece code=0 missing=0 low=128 high=191 units=$1 index
  read -r -d '' -a bytes < <(od -An -v -tu1) || true
  while ((${#bytes[@]} > 0)) && ((bytes[${#bytes[@]} - 1] == 10)); do
    unset "bytes[${#bytes[@]}-1]"
  done
  for byte in ${bytes[@]+"${bytes[@]}"}; do
    if ((missing > 0)); then
      if ((byte >= low && byte <= high)); then
        code=$((code << 6 | byte & 63)) missing=$((missing - 1)) low=128 high=191
        ((missing > 0)) || add_character
        continue
      fi
      pieces+=('\ufffd')
    fi
    missing=0 low=128 high=191 code=$byte
    if ((byte < 128)); then
      add_character
    elif ((byte >= 194 && byte <= 223)); then
      missing=1 code=$((byte & 31))
    elif ((byte >= 224 && byte <= 239)); then
      missing=2 code=$((byte & 15)) low=$((byte == 224 ? 160 : 128)) high=$((byte == 237 ? 159 : 191))
    elif ((byte >= 240 && byte <= 244)); then
      missing=3 code=$((byte & 7)) low=$((byte == 240 ? 144 : 128)) high=$((byte == 244 ? 143 : 191))
    else
      pieces+=('\ufffd')
    fi
  done
  ((missing == 0)) || pieces+=('\ufffd')
  JSON=''
  for ((index = ${#pieces[@]} - 1; index >= 0; index--)); do
    piece=${pieces[index]}
    units=$((units - (${#piece} > 6 ? 2 : 1)))
    ((units >= 0)) || break
    JSON=$piece$JSON
  done
  JSON="\"$JSON\""
}

# Adds the character `code` to the caller's `pieces`; beyond U+FFFF it is a surrogate pair.
add_character() {
  local character
  if ((code >= 32 && code < 127)); then
    printf -v character '\\x%x' "$code"
    printf -v character '%b' "$character"
    ((code != 34 && code != 92)) || character="\\$character"
  elif ((code < 65536)); then
    printf -v character '\\u%04x' "$code"
  else
    printf -v character '\\u%04x\\u%04x' "$((55232 + (code >> 10)))" "$((56320 + (code & 1023)))"
  fi
  pieces+=("$character")
}
