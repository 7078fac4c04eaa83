# What the logs tell of the deployment's machines, tasks and executions comes to `run-signals`.
resource "google_logging_project_sink" "this" {
  for_each               = local.inventory.filters
  project                = var.project
  name                   = "${var.deployment}-${each.key}"
  destination            = "pubsub.googleapis.com/${google_pubsub_topic.this["run-signals"].id}"
  filter                 = each.value
  unique_writer_identity = true
}

resource "google_pubsub_topic_iam_member" "sinks" {
  for_each = google_logging_project_sink.this
  project  = var.project
  topic    = google_pubsub_topic.this["run-signals"].name
  role     = "roles/pubsub.publisher"
  member   = each.value.writer_identity
}
