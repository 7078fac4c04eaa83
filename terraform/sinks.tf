# What the logs tell of machines, tasks and executions comes to `signals`.
resource "google_logging_project_sink" "this" {
  for_each = local.inventory.sinks

  project                = var.project
  name                   = "${local.name}-${each.key}"
  destination            = "pubsub.googleapis.com/${google_pubsub_topic.this["run-signals"].id}"
  filter                 = each.value
  unique_writer_identity = true
}

resource "google_pubsub_topic_iam_member" "sinks" {
  for_each = local.inventory.sinks

  project = var.project
  topic   = google_pubsub_topic.this["run-signals"].name
  role    = "roles/pubsub.publisher"
  member  = google_logging_project_sink.this[each.key].writer_identity
}
