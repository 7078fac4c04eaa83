# shellcheck shell=bash
# The request's package: downloaded, checked by its hash, unpacked.

fetch_package() {
  local archive="$WORK_DIR/package.tar.gz" uri="gs://$PACKAGE_BUCKET/$PACKAGE_OBJECT" sum
  [[ -n $PACKAGE_OBJECT ]] || return 0
  persist "$WORK_END" "$TRIES" download "$PACKAGE_BUCKET" "$PACKAGE_OBJECT" '' "$archive" ||
    give_up "$?" "package: $uri was not downloaded"
  sum=$( (sha256sum || shasum -a 256) <"$archive" 2>/dev/null)
  [[ ${sum%% *} == "$PACKAGE_SHA256" ]] ||
    refuse "package: its sha256 is ${sum%% *}, the request says $PACKAGE_SHA256"
  mkdir -p "$WORK_DIR/package"
  bounded "$DOCKER_SECONDS" tar -xzf "$archive" --no-same-owner -C "$WORK_DIR/package" ||
    refuse "package: $uri could not be unpacked"
  rm -f "$archive" "$archive.headers"
}
