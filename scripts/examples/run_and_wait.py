"""One run from Python: publish the request, wait for its end, read it.

pip install google-cloud-pubsub google-cloud-storage
"""

import json
import time

from google.api_core.exceptions import NotFound
from google.cloud import pubsub_v1, storage

PROJECT, BUCKET, DEPLOYMENT = "my-project", "my-project-mayfly", "mayfly"


def send(message: dict) -> str:
    """Publishes a request or a cancel; the message's id comes back."""
    publisher = pubsub_v1.PublisherClient()
    topic = publisher.topic_path(PROJECT, f"{DEPLOYMENT}-run-requests")
    return publisher.publish(topic, json.dumps(message).encode()).result(timeout=60)


def read_end(run_id: str, message_id: str) -> dict | None:
    """The rejection of this very message, else the result; None while there is neither."""
    bucket = storage.Client(project=PROJECT).bucket(BUCKET)
    for name in (f"runs/rejected/{run_id}/{message_id}.json", f"runs/results/{run_id}.json"):
        try:
            return json.loads(bucket.blob(name).download_as_bytes())
        except NotFound:
            pass
    return None


def run_and_wait(request: dict, timeout_seconds: float, poll_seconds: float = 15) -> dict:
    """The result of a run that SUCCEEDED; raises of any other end."""
    run_id = request["runId"]
    message_id = send(request)
    until = time.monotonic() + timeout_seconds
    try:
        while (end := read_end(run_id, message_id)) is None:
            if time.monotonic() > until:
                send({"cancel": run_id, "reason": "it took longer than its caller waits"})
                raise TimeoutError(f"{run_id} has not ended within {timeout_seconds} s")
            time.sleep(poll_seconds)
    except Exception:
        raise  # The next try, with the same id, waits on.
    except BaseException:  # Ctrl-C, or an orchestrator that cancels the task.
        send({"cancel": run_id, "reason": "its caller was stopped"})
        raise
    if end["status"] != "SUCCEEDED":
        raise RuntimeError(f"{run_id}: {end['status']} ({end['cause']}): {end['detail']}")
    return end
