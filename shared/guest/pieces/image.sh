# shellcheck shell=bash
# The container's image: registry credentials, the pull, and what was pulled.

# The token goes only to a registry that planning allows, on standard input, into the private folder.
log_in() {
  [[ -n $LOGIN_HOST ]] || return 0
  persist "$WORK_END" "$TRIES" try_login || fail "no log-in to $LOGIN_HOST"
}

try_login() {
  refresh_token || return 1
  bounded "$DOCKER_SECONDS" docker login --username oauth2accesstoken --password-stdin \
    "https://$LOGIN_HOST" < <(printf '%s' "$TOKEN") && return 0
  TOKEN=''
  return 1
}

pull_image() {
  local code=0 host="${IMAGE%%/*}"
  persist "$WORK_END" "$TRIES" try_pull || code=$?
  rm -f "$DOCKER_CONFIG/config.json" || true
  if ((code == 0)); then
    PULL_END_EPOCH=$(date +%s)
    inspect_image
    return 0
  fi
  case $PULL_ERROR in
    *'no space left'*)
      refuse "no image $IMAGE: the boot disk is full; a larger resources.bootDiskGiB is needed" ;;
    *toomanyrequests* | *'429 Too Many'*)
      give_up "$code" "no image $IMAGE: the rate limit of $host, for pulls without an account of it" ;;
    *timeout* | *'deadline exceeded'* | *'no route to host'* | *unreachable*)
      give_up "$code" "no image $IMAGE: no way to $host (a machine without an external address needs NAT)" ;;
    *) give_up "$code" "no image $IMAGE" ;;
  esac
}

# Quiet: progress would push the cause of a failure out of the log's last lines. What would be said again
# at the next try is final.
try_pull() {
  local code=0
  bounded "$PULL_SECONDS" docker pull --quiet "$IMAGE" 2>"$RUN_DIR/pull.txt" || code=$?
  ((code != 0)) || return 0
  PULL_ERROR=$(tail -c 4000 "$RUN_DIR/pull.txt") || true
  say "docker pull: exit code $code: $PULL_ERROR"
  case $PULL_ERROR in
    *toomanyrequests* | *'429 Too Many'*) return 1 ;;
    *denied* | *unauthorized* | *Unauthenticated* | *'403 Forbidden'* | *'manifest unknown'* | \
      *'not found'* | *'no matching manifest'* | *'no space left'* | *'invalid reference'*) return 2 ;;
    *) return 1 ;;
  esac
}

# docker's answer on standard output, within a time limit.
ask_docker() { timeout --foreground --signal=KILL "$DOCKER_SECONDS" docker "$@"; }

# Of what was pulled: its digest, so that later attempts pull exactly that; its architecture; its user.
inspect_image() {
  local facts
  facts=$(ask_docker image inspect --format \
    '{{.Architecture}}|{{.Config.User}}|{{range .RepoDigests}}{{.}} {{end}}' "$IMAGE") || facts='||'
  IMAGE_ARCHITECTURE=${facts%%|*} facts=${facts#*|}
  IMAGE_USER=${facts%%|*}
  facts=${facts#*|}
  [[ ! "$IMAGE $facts" =~ @(sha256:[0-9a-f]{64}) ]] || IMAGE_DIGEST=${BASH_REMATCH[1]}
}

# The other processor cannot run it; where emulation is installed docker would start it all the same.
check_architecture() {
  case "$(uname -m) $IMAGE_ARCHITECTURE" in
    'x86_64 arm64' | 'aarch64 amd64')
      refuse "image $IMAGE is for $IMAGE_ARCHITECTURE, this machine is $(uname -m): exec format error" ;;
  esac
}
