# What a person should hear of. Titles are the headings of docs/operations.md, which says what to check
# and how to mend it.
locals {
  count_filter = "resource.type=\"cloud_run_revision\" AND metric.type=\"logging.googleapis.com/user/%s\""
  age_filter   = "resource.type=\"pubsub_subscription\" AND resource.labels.subscription_id=\"${google_pubsub_subscription.this["submit"].name}\" AND metric.type=\"pubsub.googleapis.com/subscription/oldest_unacked_message_age\""

  # Each counts a metric of ours; the one without looks at the age of a message.
  threshold_alerts = {
    "Dead letters" = {
      counter = "request.dead", above = 0
      says    = "A message was given up or cannot be read: mayfly list --dead says which and why."
    }
    "Old requests" = {
      counter = null, above = 900
      says    = "A request has waited for submit for more than 15 minutes: mayfly doctor."
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
      says    = "Calls that are not from our subscriptions, or a wrong audience: mayfly doctor."
    }
  }
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
      duration        = "0s"
      aggregations {
        alignment_period     = "300s"
        per_series_aligner   = each.value.counter == null ? "ALIGN_MAX" : "ALIGN_SUM"
        cross_series_reducer = each.value.counter == null ? "REDUCE_MAX" : "REDUCE_SUM"
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
}

# The last layer against orphans is dead when no pass has ended for a quarter of an hour.
resource "google_monitoring_alert_policy" "sweep_silent" {
  project               = var.project
  display_name          = "${var.deployment}: Sweep silent"
  combiner              = "OR"
  severity              = "CRITICAL"
  notification_channels = var.notification_channels
  conditions {
    display_name = "Sweep silent"
    condition_absent {
      filter   = format(local.count_filter, google_logging_metric.counters["sweep.done"].name)
      duration = "900s"
      aggregations {
        alignment_period     = "300s"
        per_series_aligner   = "ALIGN_SUM"
        cross_series_reducer = "REDUCE_SUM"
      }
      trigger {
        count = 1
      }
    }
  }
  documentation {
    content   = "No sweep has ended for 15 minutes: mayfly sweep, then mayfly doctor."
    mime_type = "text/markdown"
  }
}

resource "google_monitoring_alert_policy" "spend" {
  project               = var.project
  display_name          = "${var.deployment}: Spend"
  combiner              = "OR"
  notification_channels = var.notification_channels
  conditions {
    display_name = "Spend"
    condition_prometheus_query_language {
      query               = "sum(increase(logging_googleapis_com:user_${replace(google_logging_metric.distributions["run.cost"].name, "/[^a-zA-Z0-9]/", "_")}_sum{monitored_resource=\"cloud_run_revision\"}[1h])) > ${var.spend_alert_usd_per_hour}"
      duration            = "0s"
      evaluation_interval = "300s"
    }
  }
  documentation {
    content   = "Runs that ended within an hour cost more than ${var.spend_alert_usd_per_hour} USD: mayfly report --since 1d."
    mime_type = "text/markdown"
  }
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
      currency_code = "USD"
      units         = tostring(floor(var.budget.usd))
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
