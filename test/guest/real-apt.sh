#!/bin/bash
# Runs the tools step with real apt, dpkg and gpg: in a throw-away layer over this machine's own system,
# with two repositories made by hand. As process 1 of its own namespaces (mount, pid), so that all of it
# ends with it. FOLDER is empty but for `keys`, what both servers offer; GNUPGHOME holds the secret keys
# WANTED and FOREIGN, by fingerprint. What happened is printed, a line each.
set -euo pipefail
folder=$1 pieces=$2 wanted=$3 foreign=$4
architecture=$(dpkg --print-architecture)
# As dpkg and apt lock a file.
read -r -d '' HOLD <<'PERL' || true
$| = 1;
open F, '>>', $ARGV[0] or die;
my $lock = pack 's s l! l! i', F_WRLCK, 0, 0, 0, 0;
fcntl F, F_SETLK, $lock or die;
print 'held';
sleep 99;
PERL

mkdir "$folder/layer"
mount -t tmpfs tmpfs "$folder/layer"
mkdir "$folder/layer/"{upper,work,root}
mount -t overlay overlay "$folder/layer/root" \
  -o "lowerdir=/,upperdir=$folder/layer/upper,workdir=$folder/layer/work"
root=$folder/layer/root
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"

inside() { chroot "$root" /bin/bash -c "$1"; }

# dpkg's two letters for a package: `ii` when it is installed, `iF` when only in part.
state_of() { inside "dpkg-query --show --showformat '\${db:Status-Abbrev}' $1"; }

# package NAME FIELDS PROGRAM…: a package whose programs play what the step asks of them.
package() {
  local build=$folder/build/$1 program
  mkdir -p "$build/DEBIAN" "$build/usr/bin" "$repository"
  printf 'Package: %s\nVersion: 5:1.0-1\nArchitecture: %s\nMaintainer: M <m@example.com>\n%sDescription: stand-in\n' \
    "$1" "$architecture" "$2" >"$build/DEBIAN/control"
  for program in "${@:3}"; do
    cat >"$build/usr/bin/$program" <<'PROGRAM'
#!/bin/sh
[ "$1 $2" != 'runtime configure' ] || echo '{"nvidia":{}}' >/etc/runtimes
[ "$1" != info ] || cat /run/runtimes
PROGRAM
    chmod 755 "$build/usr/bin/$program"
  done
  if [[ $1 == docker-ce ]]; then
    printf '#!/bin/sh\n[ ! -e /block ] || { : >/blocked; sleep 999; }\n' >"$build/DEBIAN/postinst"
    chmod 755 "$build/DEBIAN/postinst"
  fi
  dpkg-deb --root-owner-group --build "$build" "$repository/$1.deb" >/dev/null
}

# index PREFIX FOLDER RELEASE-FOLDER: the list of the packages in `repository`.
index() {
  local deb
  mkdir -p "$2"
  for deb in "$repository"/*.deb; do
    dpkg-deb --field "$deb"
    printf 'Filename: %s\nSize: %s\nSHA256: %s\n\n' "$1${deb##*/}" "$(stat -c %s "$deb")" \
      "$(sha256sum <"$deb" | cut -d' ' -f1)"
  done >"$2/Packages"
}

# sign KEY FOLDER PACKAGES-FILE: the repository's release, signed.
sign() {
  {
    printf 'Origin: M\nSuite: s\nCodename: %s\nComponents: stable\nArchitectures: %s\nDate: %s\n' \
      "$codename" "$architecture" "$(date -u -R)"
    printf 'SHA256:\n %s %s %s\n' "$(sha256sum <"$2/$3" | cut -d' ' -f1)" "$(stat -c %s "$2/$3")" "$3"
  } | gpg --batch --yes --pinentry-mode loopback --passphrase '' --local-user "$1" --clearsign \
    --output "$2/InRelease"
}

id=$(sed -n 's/^ID=//p' /etc/os-release) codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
docker=$root/repositories/docker/$id nvidia=$root/repositories/nvidia
repository=$docker/pool
others='Conflicts: docker.io, containerd, runc\nReplaces: docker.io, containerd, runc\n'
package containerd.io "$(printf '%b' "$others")"$'\n' containerd
package docker-ce-cli "$(printf '%b' "$others")"$'\n' docker
package docker-ce $'Depends: docker-ce-cli, containerd.io\n' dockerd
index pool/ "$docker/dists/$codename/stable/binary-$architecture"
sign "$wanted" "$docker/dists/$codename" "stable/binary-$architecture/Packages"
repository=$nvidia/stable/deb/$architecture
package nvidia-container-toolkit '' nvidia-ctk nvidia-container-runtime-hook nvidia-container-cli
index ./ "$repository"
sign "$wanted" "$repository" Packages
cp "$folder/keys" "$docker/gpg"
cp "$folder/keys" "$nvidia/gpgkey"

# An image without the tools, with a repository that cannot be reached and an older list of one of ours.
for program in docker dockerd containerd nvidia-ctk nvidia-container-runtime-hook nvidia-container-cli; do
  while IFS= read -r file; do rm -f "$root$file"; done < <(type -aP "$program")
done
rm -rf "$root/etc/apt/sources.list" "$root/etc/apt/sources.list.d" "$root/etc/apt/apt.conf.d/"*proxy*
mkdir -p "$root/etc/apt/sources.list.d" "$root/pieces" "$root/work"
echo 'deb [trusted=yes] http://127.0.0.1:9/acme stable main' >"$root/etc/apt/sources.list.d/acme.list"
echo "deb [signed-by=/usr/share/keyrings/old.gpg] file:///repositories/docker/$id $codename stable" \
  >"$root/etc/apt/sources.list.d/old.list"
cp "$pieces/"*.sh "$root/pieces"
cat >"$root/usr/local/bin/systemctl" <<'PROGRAM'
#!/bin/sh
[ "$1" != restart ] || cp /etc/runtimes /run/runtimes
PROGRAM
chmod 755 "$root/usr/local/bin/systemctl"
cat >"$root/step" <<STEP
set -euo pipefail
exec 3>/dev/null </dev/null
WORK_DIR=/work UPTIME_FILE=/proc/uptime WORK_END=2000000000 TRIES=3 BACKOFF_MS=1 BACKOFF_MAX_MS=2
DOCKER_SECONDS=60 CONNECT_SECONDS=5 CALL_SECONDS=30 GPU_COUNT=1 PERMANENT=false
DOCKER_URL=file:///repositories/docker NVIDIA_URL=file:///repositories/nvidia
source /pieces/calls.sh
source /pieces/image.sh
source /pieces/tools-apt.sh
DOCKER_KEY=$wanted NVIDIA_KEY=$wanted
APT+=(-o Acquire::Retries=0)
STEP
echo "apt: $(apt-get --version | head -n 1)"

# The installation is cut off in the middle, with all of its processes, as by a power cut.
: >"$root/block"
inside 'source /step; install_tools' >"$folder/first.log" 2>&1 &
until [[ -e $root/blocked ]] || ! kill -0 "$!" 2>/dev/null; do sleep 0.1; done
kill -KILL -1
wait
[[ $(<"$folder/first.log") != *'Failed to fetch http://127.0.0.1:9/acme'* ]] || echo "acme: out of reach"
echo "cut off: $(state_of docker-ce)"
rm "$root/block"

code=0
inside 'source /step; install_tools' >"$folder/second.log" 2>&1 || code=$?
echo "next step: exit code $code"
[[ -e $root/work/tools-ready ]] && echo "marker: there"
for name in docker-ce docker-ce-cli containerd.io nvidia-container-toolkit; do
  echo "$name: $(state_of "$name")"
done
[[ $(<"$folder/second.log") != *'Failed to fetch http://127.0.0.1:9/acme'* ]] || echo "acme: out of reach"
(cd "$root/etc/apt/sources.list.d" && echo "lists:" *)

# A repository that somebody else has signed, though the server offers that key too.
sign "$foreign" "$docker/dists/$codename" "stable/binary-$architecture/Packages"
inside 'dpkg --purge docker-ce docker-ce-cli containerd.io' >/dev/null 2>&1
rm -rf "$root/work/tools-ready" "$root/var/lib/apt/lists"
code=0
inside 'source /step; install_tools' >"$folder/third.log" 2>&1 || code=$?
echo "foreign signature: exit code $code,$(tail -n 1 "$folder/third.log" | sed 's/.*toolkit://')"

# What real programs say of a lock that another process holds is understood.
for file in /var/lib/dpkg/lock-frontend /var/lib/dpkg/lock /var/lib/apt/lists/lock; do
  arguments=(dpkg --configure -a)
  [[ $file != */lists/* ]] || arguments=(apt-get update)
  chroot "$root" perl -MFcntl -e "$HOLD" "$file" >"$folder/held" &
  until [[ -s $folder/held ]] || ! kill -0 "$!" 2>/dev/null; do sleep 0.1; done
  inside "source /step; LOCK_SECONDS=0; unlocked ${arguments[*]}" >"$folder/lock.log" 2>&1 || true
  echo "$file:$(tail -n 1 "$folder/lock.log" | sed 's/.*toolkit://')"
  kill -KILL -1 || true
  wait
  : >"$folder/held"
done
