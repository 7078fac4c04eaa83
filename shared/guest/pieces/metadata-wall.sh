# shellcheck shell=bash
# Closes the metadata server to the container, and with it the machine's own credentials: TCP 80 and 443,
# so that names are still resolved there. The machine itself is not on this path.

close_metadata_server() {
  local port
  [[ -n $FIREWALL ]] || return 0
  for port in 80 443; do
    close_port "$FIREWALL" 169.254.169.254 "$port" ||
      refuse "the metadata server could not be closed to the container"
    # Docker's networks have no IPv6 unless somebody has set it up.
    close_port "${FIREWALL/ip/ip6}" fd20:ce::254 "$port" 2>/dev/null || true
  done
}

# A reset is an answer; where the kernel has no such target the packets are dropped.
close_port() {
  local chain
  for chain in DOCKER-USER FORWARD; do
    "$1" -w 10 -I "$chain" -d "$2" -p tcp --dport "$3" -j REJECT --reject-with tcp-reset ||
      "$1" -w 10 -I "$chain" -d "$2" -p tcp --dport "$3" -j DROP || continue
    return 0
  done
  return 1
}

# A program that looked for the machine's credentials cannot know why it found none: the detail says it.
hint_at_metadata() {
  [[ -n $FIREWALL && $CAUSE == exit && $EXIT_CODE != 0 ]] || return 0
  [[ $JSON =~ [Dd]efault\ [Cc]redentials|169\.254\.169\.254|metadata\.google ]] || return 0
  JSON=${JSON%\"}
  JSON+='\nMayfly: the metadata server is closed to this container; metadataAccess in the request opens it"'
}
