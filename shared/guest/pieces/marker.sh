# shellcheck shell=bash
# The marker: the status object that the control plane waits for. A terminal one is never overwritten.

# make_marker STATUS CAUSE DETAIL-AS-JSON OUTPUTS-AS-JSON NONCE: the marker's text, in MARKER.
make_marker() {
  local instance zone run image=null cause=null end_epoch=null execute_s=null
  to_json "$INSTANCE" && instance=$JSON
  to_json "$ZONE" && zone=$JSON
  to_json "$RUN_ID" && run=$JSON
  [[ -z $IMAGE_DIGEST ]] || image="\"$IMAGE_DIGEST\""
  if [[ $1 != RUNNING ]]; then
    cause="\"$2\"" end_epoch=$(date +%s)
    [[ $EXEC_START_EPOCH == null ]] || execute_s=$((end_epoch - EXEC_START_EPOCH))
  fi
  MARKER="{\"status\":\"$1\",\"exit_code\":$EXIT_CODE,\"instance\":$instance,\"zone\":$zone"
  MARKER+=",\"detail\":$3,\"boot_epoch\":$BOOT_EPOCH,\"exec_start_epoch\":$EXEC_START_EPOCH"
  MARKER+=",\"end_epoch\":$end_epoch,\"execute_s\":$execute_s,\"schema\":1,\"run_id\":$run"
  MARKER+=",\"attempt\":$ATTEMPT,\"step\":\"$STEP\",\"cause\":$cause,\"boot_id\":\"$BOOT_ID\""
  MARKER+=",\"image_digest\":$image,\"peak_memory_bytes\":$PEAK_MEMORY,\"gpu_count\":$GPU_COUNT"
  [[ $2 != step-failed ]] || MARKER+=",\"permanent\":$PERMANENT"
  MARKER+=",\"pull_end_epoch\":$PULL_END_EPOCH,\"outputs\":$4,\"nonce\":\"$5\"}"
}

# One try to write MARKER over the generation that was read: 0 it stands there, 1 may pass, 3 another
# terminal marker stands there. Our own bytes are there after a reply that was lost.
write_marker() {
  local headers generation=0
  address "$BUCKET" "$MARKER_OBJECT"
  if google GET "$OBJECT_URL?alt=media" --include; then
    [[ ${REPLY##*$'\r\n\r\n'} != "$MARKER" ]] || return 0
    [[ ! $REPLY =~ \"status\":[[:space:]]*\"(SUCCEEDED|FAILED)\" ]] || return 3
    headers=${REPLY%%$'\r\n\r\n'*}
    [[ $headers =~ [Xx]-[Gg]oog-[Gg]eneration:[[:space:]]*([0-9]+) ]] || return 1
    generation=${BASH_REMATCH[1]}
  elif [[ $CODE != 404 ]]; then
    judge || return 1
  fi
  put_json "$generation" "$MARKER" && return 0
  judge || return 1
}
