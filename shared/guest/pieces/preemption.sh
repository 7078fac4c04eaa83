# shellcheck shell=bash
# A Spot machine's notice, as soon as it comes; then as for a TERM. The second call hangs until there is a
# change, and its answer is not believed: the first one asks again.

watch_preemption() {
  end_with_sleep
  while :; do
    if metadata instance/preempted && [[ $REPLY == TRUE ]]; then break; fi
    curl -q --silent --noproxy '*' --header 'Metadata-Flavor: Google' --max-time 70 \
      "$METADATA_URL/instance/preempted?wait_for_change=true&timeout_sec=60" >/dev/null &
    wait "$!" || true
    sleep 1 &
    wait "$!"
  done
  say "the machine is being preempted"
  kill -s TERM "$$"
}
