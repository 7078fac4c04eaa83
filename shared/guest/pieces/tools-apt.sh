# shellcheck shell=bash
# Docker and the NVIDIA container toolkit for images of apt that bring the GPU's driver alone. What an
# interrupted boot has left half done is repaired first, so the step may run again from any point.

DOCKER_URL=${DOCKER_URL:-https://download.docker.com/linux}
DOCKER_KEY=9DC858229FC7DD38854AE2D88D81803C0EBFCD88
NVIDIA_URL=${NVIDIA_URL:-https://nvidia.github.io/libnvidia-container}
NVIDIA_KEY=C95B321B61E88C1809C4F759DDCAE044F796ECB0
APT_DIR=${APT_DIR:-/etc/apt}
OS_RELEASE_FILE=${OS_RELEASE_FILE:-/etc/os-release}
# The updates at boot hold apt's locks for minutes.
LOCK_SECONDS=600
APT_SECONDS=1800
APT=(apt-get --yes --quiet -o "DPkg::Lock::Timeout=$LOCK_SECONDS" -o Acquire::Retries=3
  -o Dpkg::Options::=--force-confold)

install_tools() {
  if [[ -e $WORK_DIR/tools-ready ]] && bounded "$DOCKER_SECONDS" systemctl is-active docker &&
    docker_answers; then return 0; fi
  export DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1
  # Some other package's fault is not ours; whether ours are whole is seen below.
  unlocked dpkg --configure -a --force-confold || say "dpkg could not repair everything"
  PACKAGES=()
  have docker dockerd containerd || add_docker
  ((GPU_COUNT == 0)) || have nvidia-ctk nvidia-container-runtime-hook nvidia-container-cli ||
    add_toolkit
  if ((${#PACKAGES[@]} > 0)); then
    persist "$WORK_END" 3 find_candidates || tools_failed "apt does not find every package"
    unlocked "${APT[@]}" install --fix-broken --no-install-recommends "${PACKAGES[@]}" ||
      tools_failed "apt-get install ${PACKAGES[*]}"
  fi
  # Docker's unit may be started three times a minute, and installing it was once.
  persist "$WORK_END" 2 start_docker || tools_failed "Docker does not run as it should"
  : >"$WORK_DIR/tools-ready"
}

tools_failed() { fail "install Docker and the NVIDIA container toolkit: $*"; }

# One program of each package: an interrupted installation may have brought some of them.
have() {
  local program
  for program in "$@"; do command -v "$program" >/dev/null || return 1; done
}

docker_answers() {
  local runtimes
  runtimes=$(ask_docker info --format '{{json .Runtimes}}') || return 1
  ((GPU_COUNT == 0)) || [[ $runtimes == *'"nvidia"'* ]] || { say "runtimes: $runtimes" && return 1; }
}

start_docker() {
  ((GPU_COUNT == 0)) ||
    bounded "$DOCKER_SECONDS" nvidia-ctk runtime configure --runtime=docker || return 1
  bounded "$DOCKER_SECONDS" systemctl restart docker && docker_answers || return 1
}

# unlocked COMMAND…: repeats it while another process holds a lock that it needs (apt itself waits for
# dpkg's alone). Any other fault is the caller's.
unlocked() {
  local code=0
  tell_time
  persist "$((NOW + LOCK_SECONDS))" 1000000 try_unlocked "$@" || code=$?
  ((code != 1)) || tools_failed "another process held the lock of dpkg or apt for $LOCK_SECONDS s"
  return "$code"
}

try_unlocked() {
  local code=0 output
  { timeout --foreground --signal=KILL "$APT_SECONDS" "$@" 2>&1 | tee "$WORK_DIR/apt.log"; } &
  wait "$!" || code=$?
  ((code != 0)) || return 0
  output=$(<"$WORK_DIR/apt.log")
  # In dpkg's words and in apt's, which begin with `E: ` or `Error: `.
  [[ $output != *'locked by another process'* ]] || return 1
  [[ $output != *[Er]': Could not get lock'* ]] || return 1
  return 2
}

add_docker() {
  local line id='' codename=''
  while read -r line; do
    line=${line//[\"\']/}
    case $line in
      ID=*) id=${line#*=} ;;
      VERSION_CODENAME=*) codename=${line#*=} ;;
    esac
  done <"$OS_RELEASE_FILE"
  add_repository docker "$DOCKER_KEY" "$DOCKER_URL/$id" gpg " $codename stable"
  PACKAGES+=(docker-ce docker-ce-cli containerd.io)
}

# The variable in its address is apt's own.
add_toolkit() {
  add_repository nvidia-container-toolkit "$NVIDIA_KEY" "$NVIDIA_URL" gpgkey "/stable/deb/\$(ARCH) /"
  PACKAGES+=(nvidia-container-toolkit)
}

# add_repository NAME FINGERPRINT URL KEY-FILE REST-OF-ADDRESS: apt trusts it by that one key alone.
add_repository() {
  local keyring="$APT_DIR/keyrings/$1.gpg" lists="$APT_DIR/sources.list.d" keys='' file
  local -x GNUPGHOME="$WORK_DIR/gnupg"
  rm -rf "$GNUPGHOME"
  (umask 077 && mkdir "$GNUPGHOME")
  mkdir -p "$APT_DIR/keyrings" "$lists"
  bounded "$APT_SECONDS" curl -q --silent --show-error --fail --location --retry 5 \
    --retry-connrefused --connect-timeout "$CONNECT_SECONDS" --max-time "$CALL_SECONDS" \
    --output "$GNUPGHOME/keys" "$3/$4" || tools_failed "$3/$4 was not downloaded"
  gpg --batch --import "$GNUPGHOME/keys" || true
  gpg --batch --output "$GNUPGHOME/key" --export "$2" || true
  keys=$(gpg --batch --with-colons --show-keys "$GNUPGHOME/key") || true
  # A key that has the wanted one as its subkey would come along.
  [[ $keys == pub:*([^$'\n'])$'\n'fpr:::::::::"$2":* && $keys != *$'\n'pub:* ]] ||
    tools_failed "$3/$4 is not the key $2"
  install -m 644 "$GNUPGHOME/key" "$keyring"
  # A repository that is listed twice with different keys makes apt refuse to work at all.
  for file in "$lists"/*; do
    [[ ! -f $file || $(<"$file") != *"$3"* ]] || rm -f "$file"
  done
  echo "deb [arch=$(dpkg --print-architecture) signed-by=$keyring] $3$5" >"$lists/$1.list"
}

find_candidates() {
  local package
  # Other repositories may be out of reach; what counts is what is found.
  unlocked "${APT[@]}" update || true
  for package in "${PACKAGES[@]}"; do
    [[ $(apt-cache policy "$package") =~ Candidate:\ [0-9] ]] ||
      { say "no candidate for $package" && return 1; }
  done
}

add_toolkit_flag() { GPU_FLAGS+=(--gpus all); }
