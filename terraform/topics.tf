# Topics, and the push subscriptions that bring each message to its function. Every delivery uses a
# subscription of ours: deadline 600 s, back-off 10-600 s, no expiry.
locals {
  topics        = toset(local.inventory.topics)
  subscriptions = { for subscription in local.inventory.subscriptions : subscription.name => subscription }
}

resource "google_pubsub_topic" "this" {
  for_each     = local.topics
  project      = var.project
  name         = "${var.deployment}-${each.key}"
  kms_key_name = var.kms_key
  labels       = { managed-by = "mayfly", deployment = var.deployment }
  depends_on   = [google_project_service.this, google_kms_crypto_key_iam_member.agents]
}

resource "google_pubsub_subscription" "this" {
  for_each                   = local.subscriptions
  project                    = var.project
  name                       = "${var.deployment}-${each.key}"
  topic                      = google_pubsub_topic.this[each.value.topic].id
  ack_deadline_seconds       = 600
  message_retention_duration = "${each.value.retentionSeconds}s"
  labels                     = { managed-by = "mayfly", deployment = var.deployment }

  expiration_policy {
    ttl = ""
  }
  retry_policy {
    minimum_backoff = "10s"
    maximum_backoff = "600s"
  }
  # Only a request must never be lost in silence; of the others the sweep is the net.
  dynamic "dead_letter_policy" {
    for_each = each.value.deadLetters ? [google_pubsub_topic.this["dead"].id] : []
    content {
      dead_letter_topic     = dead_letter_policy.value
      max_delivery_attempts = 100
    }
  }
  push_config {
    push_endpoint = "${local.urls[each.value.function]}${each.value.path}"
    oidc_token {
      service_account_email = google_service_account.this["push"].email
      audience              = local.urls[each.value.function]
    }
  }
  depends_on = [
    google_cloud_run_service_iam_member.push, google_service_account_iam_member.push_tokens,
    google_pubsub_topic_iam_member.dead_letters,
  ]
}

# Pub/Sub's agent moves a message to the dead topic: it publishes there and acknowledges here. Without
# these rights dead letters never arrive, and nothing says so.
resource "google_pubsub_topic_iam_member" "dead_letters" {
  project = var.project
  topic   = google_pubsub_topic.this["dead"].name
  role    = "roles/pubsub.publisher"
  member  = local.agents.pubsub
}

resource "google_pubsub_subscription_iam_member" "dead_letters" {
  for_each     = { for name, subscription in local.subscriptions : name => subscription if subscription.deadLetters }
  project      = var.project
  subscription = google_pubsub_subscription.this[each.key].name
  role         = "roles/pubsub.subscriber"
  member       = local.agents.pubsub
}

# Pub/Sub and Cloud Scheduler sign their calls as the push account.
resource "google_service_account_iam_member" "push_tokens" {
  for_each           = toset(["pubsub", "scheduler"])
  service_account_id = google_service_account.this["push"].name
  role               = "roles/iam.serviceAccountTokenCreator"
  member             = local.agents[each.key]
}
