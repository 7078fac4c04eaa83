# What a person should hear of. Titles are the headings of docs/operations.md, which says what to check
# and how to mend it.
locals {
  count_filter = "resource.type=\"cloud_run_revision\" AND metric.type=\"logging.googleapis.com/user/%s\""
  age_filter = join(" AND ", [
    "resource.type=\"pubsub_subscription\"", "metric.type=\"pubsub.googleapis.com/subscription/oldest_unacked_message_age\"",
    "resource.labels.subscription_id=one_of(${join(", ", [for name in keys(local.subscriptions) : "\"${var.deployment}-${name}\""])})",
  ])

  # Each counts a metric of ours within `window` seconds, and has to stay above for `lasting` seconds; the
  # one without looks at the age of messages, of every subscription.
  threshold_alerts = {
    "Dead letters" = {
      counter = "request.dead", above = 0
      says    = "A message was given up or cannot be read: mayfly list --dead says which and why."
    }
    "Old requests" = {
      counter = null, above = 900
      says    = "A message has waited for its function for more than 15 minutes: mayfly doctor."
    }
    "Leak found" = {
      counter = "sweep.leaks", above = 0
      says    = "Something carries our label and nobody owns it, or a delete is refused: mayfly sweep --dry-run."
    }
    "Throttled" = {
      counter = "run.throttled", above = 0
      says    = "Cloud Run answers 429: ask for more quota, or lower MAYFLY_JOBS_SUBMITS_PER_MINUTE."
    }
    "Task event refused" = {
      counter = "task.refused", above = 0
      says    = "A line that claims to be a task's has a wrong signature or comes out of order."
    }
    "Authentication failures" = {
      counter = "push.unauthenticated", above = 5
      says    = "Calls that are not from our subscriptions, a missing run.invoker, or a wrong audience: mayfly doctor."
    }
    "Functions not starting" = {
      counter = "function.start.failure", above = 0
      says    = "A function ends before it listens; its log line names the wrong or missing settings."
    }
    "Requests failing" = {
      counter = "request.failed", above = 3, window = 900
      says    = "A function meets a fault again and again, and so do the messages that wait for it: mayfly doctor."
    }
    "Runs unknown" = {
      counter = "run.unknown", above = 0, lasting = 900
      says    = "Every pass meets runs, machines or executions that it cannot ask after: mayfly doctor."
    }
  }

  # Names of metrics are as PromQL has them: the first slash a colon, all else that is no letter an underscore.
  sweep_done = "logging_googleapis_com:user_${replace(google_logging_metric.counters["sweep.done"].name, "/[^a-zA-Z0-9]/", "_")}"
  run_cost   = "logging_googleapis_com:user_${replace(google_logging_metric.distributions["run.cost"].name, "/[^a-zA-Z0-9]/", "_")}"
}

# Monitoring knows a metric from logs up to ten minutes after it was made, and refuses a policy about one
# that it does not know.
resource "time_sleep" "metrics" {
  create_duration = "600s"
  triggers        = { metrics = join(" ", sort(concat(keys(local.counters), keys(local.distributions)))) }
  depends_on      = [google_logging_metric.counters, google_logging_metric.distributions]
}

resource "google_monitoring_alert_policy" "threshold" {
  for_each              = local.threshold_alerts
  project               = var.project
  display_name          = "${var.deployment}: ${each.key}"
  combiner              = "OR"
  notification_channels = var.notification_channels
  conditions {
    display_name = each.key
    condition_threshold {
      filter          = each.value.counter == null ? local.age_filter : format(local.count_filter, google_logging_metric.counters[each.value.counter].name)
      comparison      = "COMPARISON_GT"
      threshold_value = each.value.above
      duration        = "${try(each.value.lasting, 0)}s"
      aggregations {
        alignment_period     = "${try(each.value.window, 300)}s"
        per_series_aligner   = each.value.counter == null ? "ALIGN_MAX" : "ALIGN_SUM"
        cross_series_reducer = each.value.counter == null ? "REDUCE_MAX" : "REDUCE_SUM"
        group_by_fields      = each.value.counter == null ? ["resource.label.subscription_id"] : []
      }
      trigger {
        count = 1
      }
    }
  }
  documentation {
    content   = each.value.says
    mime_type = "text/markdown"
  }
  depends_on = [time_sleep.metrics]
}

# The last layer against orphans is dead when no pass has ended for a quarter of an hour: five minutes
# without one, ten minutes long. A metric that has never had a value counts as 0 here; a condition on the
# absence of values would wait for the first one, and never hear of a sweep that never worked.
resource "google_monitoring_alert_policy" "sweep_silent" {
  project               = var.project
  display_name          = "${var.deployment}: Sweep silent"
  combiner              = "OR"
  severity              = "CRITICAL"
  notification_channels = var.notification_channels
  conditions {
    display_name = "Sweep silent"
    condition_prometheus_query_language {
      query               = "(sum(increase(${local.sweep_done}{monitored_resource=\"cloud_run_revision\"}[5m])) or vector(0)) < 1"
      duration            = "600s"
      evaluation_interval = "60s"
      # Also of a metric that has no value yet.
      disable_metric_validation = true
    }
  }
  documentation {
    content   = "No sweep has ended for 15 minutes: mayfly sweep, then mayfly doctor."
    mime_type = "text/markdown"
  }
  depends_on = [time_sleep.metrics, google_cloud_scheduler_job.sweep]
}

resource "google_monitoring_alert_policy" "spend" {
  project               = var.project
  display_name          = "${var.deployment}: Spend"
  combiner              = "OR"
  notification_channels = var.notification_channels
  conditions {
    display_name = "Spend"
    condition_prometheus_query_language {
      query                     = "sum(increase(${local.run_cost}_sum{monitored_resource=\"cloud_run_revision\"}[1h])) > ${var.spend_alert_usd_per_hour}"
      duration                  = "0s"
      evaluation_interval       = "300s"
      disable_metric_validation = true
    }
  }
  documentation {
    content   = "Runs that ended within an hour cost more than ${var.spend_alert_usd_per_hour} USD: mayfly report --since 1d."
    mime_type = "text/markdown"
  }
  depends_on = [time_sleep.metrics]
}

resource "google_billing_budget" "this" {
  count           = var.budget == null ? 0 : 1
  billing_account = var.budget.billing_account
  display_name    = "Mayfly ${var.deployment} (${var.project})"
  budget_filter {
    projects = ["projects/${local.number}"]
  }
  amount {
    specified_amount {
      # Without a currency: only the billing account's own would be taken.
      units = tostring(floor(var.budget.amount))
    }
  }
  dynamic "threshold_rules" {
    for_each = [0.5, 0.9, 1]
    content {
      threshold_percent = threshold_rules.value
    }
  }
  all_updates_rule {
    monitoring_notification_channels = var.notification_channels
    disable_default_iam_recipients   = false
  }
  depends_on = [google_project_service.this]
}
