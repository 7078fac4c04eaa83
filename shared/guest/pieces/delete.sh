# shellcheck shell=bash
# The machine's end. It is deleted, never stopped: Compute Engine forgets the TTL of a stopped machine,
# and its disk bills on. Where the delete is refused the machine stays up, so that its TTL still holds.

delete_machine() {
  persist 2000000000 "$DELETE_TRIES" try_delete && return 0
  say "the delete was refused; the machine stays up for its TTL"
  persist 2000000000 "$TRIES" write_guest_attribute detail "self-delete refused: HTTP $CODE" || true
}

try_delete() {
  google DELETE "$COMPUTE_URL/compute/v1/projects/$PROJECT/zones/$ZONE/instances/$INSTANCE" &&
    answers 'compute#operation' && return 0
  [[ $CODE == 404 ]] && return 0
  judge || return 1
}
