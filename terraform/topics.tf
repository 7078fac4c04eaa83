resource "google_pubsub_topic" "this" {
  for_each = toset(local.inventory.topics)

  project      = var.project
  name         = "${local.name}-${each.key}"
  kms_key_name = var.kms_key == "" ? null : var.kms_key

  depends_on = [google_project_service.this, google_kms_crypto_key_iam_member.this]
}

resource "google_pubsub_subscription" "this" {
  for_each = { for subscription in local.inventory.subscriptions : subscription.name => subscription }

  project                    = var.project
  name                       = "${local.name}-${each.key}"
  topic                      = google_pubsub_topic.this[each.value.topic].id
  ack_deadline_seconds       = 600
  message_retention_duration = "${each.value.retentionSeconds}s"

  # Never: a deployment that rests for a month still takes its next request.
  expiration_policy {
    ttl = ""
  }

  retry_policy {
    minimum_backoff = "10s"
    maximum_backoff = "600s"
  }

  dynamic "dead_letter_policy" {
    for_each = each.value.deadLetters ? [100] : []

    content {
      dead_letter_topic     = google_pubsub_topic.this["dead"].id
      max_delivery_attempts = dead_letter_policy.value
    }
  }

  push_config {
    push_endpoint = "${google_cloudfunctions2_function.this[each.value.function].service_config[0].uri}${each.value.path}"

    oidc_token {
      service_account_email = google_service_account.this["push"].email
      audience              = local.audiences[each.value.function]
    }
  }

  depends_on = [google_cloud_run_service_iam_member.push, google_service_account_iam_member.push_tokens]
}

# Pub/Sub moves a message to the dead topic in its own name, and acknowledges it at the source.
resource "google_pubsub_topic_iam_member" "dead_letters" {
  project = var.project
  topic   = google_pubsub_topic.this["dead"].name
  role    = "roles/pubsub.publisher"
  member  = local.pubsub_agent
}

resource "google_pubsub_subscription_iam_member" "dead_letters" {
  for_each = toset([for subscription in local.inventory.subscriptions : subscription.name if subscription.deadLetters])

  project      = var.project
  subscription = google_pubsub_subscription.this[each.key].name
  role         = "roles/pubsub.subscriber"
  member       = local.pubsub_agent
}

resource "google_service_account_iam_member" "push_tokens" {
  service_account_id = google_service_account.this["push"].name
  role               = "roles/iam.serviceAccountTokenCreator"
  member             = local.pubsub_agent
}
