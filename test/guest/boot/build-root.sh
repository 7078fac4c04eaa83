#!/bin/bash
# Builds the root file system of a Debian machine as Compute Engine boots it: systemd, docker, Google's
# guest agent. Packages come from this machine's own Debian sources.
# Usage (as root): build-root.sh container FILE.tar.zst, or build-root.sh vm FILE.tar.zst (with a kernel).
set -euo pipefail

kind=$1 file=$2
packages=(systemd-sysv dbus google-guest-agent docker.io curl iproute2 ca-certificates)
[[ $kind != vm ]] || packages+=(linux-image-cloud-amd64 udev)
# What a machine of minutes does not need and a slow one would wait for.
masked=(apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer
  e2scrub_reap.service fstrim.timer getty@tty1.service systemd-networkd-wait-online.service
  systemd-pstore.service systemd-timesyncd.service)

# apt's own reading of its sources, whatever their format, in its oldest one.
debian_sources() {
  apt-get indextargets --format "deb \$(REPO_URI) \$(RELEASE) \$(COMPONENT)" \
    'Created-By: Packages' 'Origin: Debian' | sort -u
}

customize() {
  local root=$1 unit
  printf '127.0.0.1 localhost\n169.254.169.254 metadata.google.internal metadata\n' >"$root/etc/hosts"
  : >"$root/etc/machine-id"
  mkdir -p "$root/etc/docker" "$root/var/log/journal"
  # The registry of the tests speaks plain HTTP.
  echo '{"insecure-registries": ["169.254.169.254:80"]}' >"$root/etc/docker/daemon.json"
  for unit in "${masked[@]}"; do ln -sf /dev/null "$root/etc/systemd/system/$unit"; done
  [[ $kind == vm ]] || return 0
  printf '[Match]\nName=eth*\n[Network]\nDHCP=ipv4\n[DHCPv4]\nUseDNS=no\n' \
    >"$root/etc/systemd/network/10-dhcp.network"
  rm "$root/etc/systemd/system/systemd-networkd-wait-online.service"
  systemctl --root "$root" --quiet enable systemd-networkd systemd-networkd-wait-online
}

if [[ $kind == customize ]]; then
  kind=$3
  customize "$file"
  exit
fi
release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
debian_sources | mmdebstrap --quiet --variant=minbase --aptopt='APT::Install-Recommends "false"' \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' \
  --include="$(IFS=, && echo "${packages[*]}")" \
  --customize-hook="$0 customize \"\$1\" $kind" \
  "$release" "$file" -
