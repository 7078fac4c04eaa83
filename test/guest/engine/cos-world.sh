# shellcheck shell=bash
# Container-Optimized OS as a script meets it: a read-only root, /tmp, /home and /var without the right to
# execute, /var/lib/docker and /mnt/disks with it, /etc writable, and few programs.

COS_PROGRAMS=(
  bash sh curl docker iptables ip6tables ip mount umount findmnt find xargs grep sed gawk awk tar gzip timeout
  sleep date cat head tail tr cut wc sort uniq mkdir rm rmdir mv cp ln ls chmod chown stat touch mktemp tee
  od base64 md5sum sha256sum sha512sum printf echo test expr env id uname nproc getconf dirname basename
  readlink realpath true false kill ps sync df du mknod mkfifo seq stdbuf nice setsid nohup sysctl
)

# make_cos_world FOLDER: in a mount namespace of its own. Programs stand in /mnt/bin; the work of a test
# in FOLDER stays visible, without the right to execute, as all that is in /tmp.
make_cos_world() {
  local folder=$1 program path
  [[ $folder == /tmp/* ]] || { echo "the work folder must be in /tmp, not $folder" >&2 && return 1; }
  mount -t tmpfs tmpfs /mnt
  mkdir -p /mnt/bin /mnt/disks /mnt/etc
  cp -a /etc/. /mnt/etc/
  for program in "${COS_PROGRAMS[@]}"; do
    path=$(type -P "$program") && ln -s "$path" "/mnt/bin/$program"
  done
  mount --bind /mnt/etc /etc
  mount --bind /tmp /tmp
  mount -o remount,bind,noexec,nosuid /tmp
  mount -t tmpfs -o noexec,nosuid tmpfs /home
  mount -t tmpfs -o noexec,nosuid tmpfs /var
  mkdir -p /var/lib/docker /var/lib/google /var/tmp /var/log
  ln -s /run /var/run
  mount -t tmpfs tmpfs /var/lib/google
  mount --bind "$folder/data" /var/lib/docker
  mount -o remount,bind,exec /var/lib/docker
  mount -t tmpfs tmpfs /mnt/disks
  mount -o remount,bind,ro /mnt
  mount -o remount,bind,ro /
}
