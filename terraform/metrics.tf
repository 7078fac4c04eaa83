# Metrics from the functions' log lines. Names and units are OpenTelemetry's: dots, UCUM units, durations
# in seconds; the first word is the deployment.
locals {
  services = join(" OR ", [for name in local.functions : "resource.labels.service_name=\"${var.deployment}-${name}\""])
  lines    = "resource.type=\"cloud_run_revision\" AND (${local.services})"

  run_labels = { status = "status", cause = "cause", runtime = "runtime", machine_type = "machineType" }

  # Figures of the line that each run leaves when it ends.
  distributions = {
    "run.queue.duration"     = { field = "seconds.queue", unit = "s" }
    "run.placement.duration" = { field = "seconds.provision", unit = "s" }
    "run.boot.duration"      = { field = "seconds.boot", unit = "s" }
    "run.pull.duration"      = { field = "seconds.pull", unit = "s" }
    "run.execute.duration"   = { field = "seconds.execute", unit = "s" }
    "run.waste.duration"     = { field = "wasteSeconds", unit = "s" }
    "run.cost"               = { field = "costUsd", unit = "{USD}" }
  }

  # How often a line was written. Refusals are counted in Cloud Run's own log of requests: most of them, a
  # missing run.invoker first of all, end there and never reach a function.
  counters = {
    "run.ended"              = "jsonPayload.event=\"run-ended\""
    "run.unknown"            = "jsonPayload.event=(\"run-unknown\" OR \"machine-unknown\" OR \"execution-unread\")"
    "sweep.done"             = "jsonPayload.event=\"sweep-done\""
    "sweep.leaks"            = "jsonPayload.event=(\"leak-found\" OR \"strays-kept\" OR \"machine-undeleted\")"
    "request.failed"         = "jsonPayload.event=\"request-failed\""
    "request.rejected"       = "jsonPayload.event=\"request-rejected\""
    "request.dead"           = "jsonPayload.event=\"dead-letter\""
    "run.throttled"          = "jsonPayload.event=\"run-throttled\""
    "task.refused"           = "jsonPayload.event=\"task-event-refused\""
    "push.unauthenticated"   = "(httpRequest.status=(401 OR 403) OR jsonPayload.event=\"push-keys-unavailable\")"
    "function.start.failure" = "jsonPayload.event=\"server-not-started\""
  }
}

resource "google_logging_metric" "distributions" {
  for_each        = local.distributions
  project         = var.project
  name            = "${var.deployment}.${each.key}"
  description     = "jsonPayload.${each.value.field} of runs that ended"
  filter          = "${local.lines} AND jsonPayload.event=\"run-ended\" AND jsonPayload.${each.value.field}>=0"
  value_extractor = "EXTRACT(jsonPayload.${each.value.field})"

  label_extractors = { for label, field in local.run_labels : label => "EXTRACT(jsonPayload.${field})" }

  metric_descriptor {
    metric_kind = "DELTA"
    value_type  = "DISTRIBUTION"
    unit        = each.value.unit
    dynamic "labels" {
      for_each = local.run_labels
      content {
        key        = labels.key
        value_type = "STRING"
      }
    }
  }
  bucket_options {
    exponential_buckets {
      num_finite_buckets = 64
      growth_factor      = 1.5
      scale              = 0.001
    }
  }
  depends_on = [google_project_service.this]
}

resource "google_logging_metric" "counters" {
  for_each    = local.counters
  project     = var.project
  name        = "${var.deployment}.${each.key}"
  description = "Log lines: ${each.value}"
  filter      = "${local.lines} AND ${each.value}"
  metric_descriptor {
    metric_kind = "DELTA"
    value_type  = "INT64"
    unit        = "1"
  }
  depends_on = [google_project_service.this]
}
