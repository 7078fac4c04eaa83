# shellcheck shell=bash
# Secrets of Secret Manager: read on the machine, kept in memory, never on a command line.

# read_secret NAME FILE: the secret's bytes into a private file.
read_secret() {
  persist "$WORK_END" "$TRIES" try_secret "$1" || give_up "$?" "secret $1: HTTP $CODE"
  (umask 077 && base64 -d <<<"$FIELD" >"$2") || refuse "secret $1: the answer is not base64"
}

try_secret() {
  google GET "$SECRETS_URL/v1/$1:access" || { judge || return; }
  reply_field data
  [[ -n $FIELD ]]
}

# A key that is a path becomes a read-only file, any other a variable. The file belongs to the image's
# user, where that is a number; where it is a name that only the container knows, all may read it there.
read_secrets() {
  local index
  (umask 077 && mkdir -p "$RUN_DIR/secrets")
  for index in "${!SECRET_KEYS[@]}"; do
    read_secret "${SECRET_NAMES[index]}" "$RUN_DIR/secrets/$index"
  done
}

# Before the container starts, when the image's user is known.
give_secrets() {
  local index file value
  for index in "${!SECRET_KEYS[@]}"; do
    file="$RUN_DIR/secrets/$index"
    if [[ ${SECRET_KEYS[index]} == /* ]]; then
      case $IMAGE_USER in
        '' | root | 0 | 0:*) ;;
        [0-9]*) chown "${IMAGE_USER%%:*}" "$file" ;;
        *) chmod 444 "$file" ;;
      esac
      add_mount "$file" "${SECRET_KEYS[index]}" readonly
    else
      # The name alone stands on docker's command line; the x keeps line ends at the end.
      value=$(cat "$file" && echo x)
      printf -v value '%q' "${value%x}"
      SECRET_EXPORTS+=" ${SECRET_KEYS[index]}=$value"
      ENVIRONMENT+=(--env "${SECRET_KEYS[index]}")
      rm -f "$file"
    fi
  done
}

# with_secrets COMMAND…: with the secret variables in its environment, and in no other program's. Their
# names may be those of this script's own variables: none is used after them.
with_secrets() {
  {
    eval "export $SECRET_EXPORTS"
    "$@"
  } &
  wait "$!"
}

# For registries that are not Google's: a Docker config with their credentials.
read_image_credentials() {
  [[ -n $CREDENTIALS_SECRET ]] || return 0
  read_secret "$CREDENTIALS_SECRET" "$DOCKER_CONFIG/config.json"
}
