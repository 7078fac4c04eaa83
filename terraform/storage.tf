resource "google_storage_bucket" "this" {
  project                     = var.project
  name                        = local.bucket
  location                    = var.region
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  force_destroy               = var.force_destroy

  # State is written by the second: kept versions of it would cost more than all the rest.
  soft_delete_policy {
    retention_duration_seconds = 0
  }

  versioning {
    enabled = false
  }

  dynamic "encryption" {
    for_each = var.kms_key == "" ? [] : [var.kms_key]

    content {
      default_kms_key_name = encryption.value
    }
  }

  lifecycle_rule {
    action {
      type = "Delete"
    }

    condition {
      age            = var.retention_days
      matches_prefix = local.inventory.keptShorter
    }
  }

  # Request and result keep a run's id taken: they go last.
  lifecycle_rule {
    action {
      type = "Delete"
    }

    condition {
      age            = var.retention_days + 1
      matches_prefix = local.inventory.keptWhileTaken
    }
  }

  # Good for a day at most, by the code's own rule.
  lifecycle_rule {
    action {
      type = "Delete"
    }

    condition {
      age            = 2
      matches_prefix = ["runs/turns/", "runs/offers/"]
    }
  }

  lifecycle_rule {
    action {
      type = "AbortIncompleteMultipartUpload"
    }

    condition {
      age = 2
    }
  }

  depends_on = [google_project_service.this, google_kms_crypto_key_iam_member.this]
}

# A function that finds another deployment's name here does no work.
resource "google_storage_bucket_object" "deployment" {
  bucket       = google_storage_bucket.this.name
  name         = local.inventory.deploymentObject
  content      = local.name
  content_type = "text/plain"
}

# Its name holds its content: other code is another object, and so another revision.
resource "google_storage_bucket_object" "source" {
  bucket       = google_storage_bucket.this.name
  name         = "functions/${filesha256(var.source_archive)}.zip"
  source       = var.source_archive
  content_type = "application/zip"
}

resource "google_storage_notification" "this" {
  for_each = { for notification in local.inventory.notifications : trim(notification.prefix, "/") => notification }

  bucket             = google_storage_bucket.this.name
  topic              = google_pubsub_topic.this[each.value.topic].id
  payload_format     = "JSON_API_V1"
  event_types        = ["OBJECT_FINALIZE"]
  object_name_prefix = each.value.prefix

  # Cloud Storage tries to publish when a notification is made, and refuses it without the right.
  depends_on = [google_pubsub_topic_iam_member.storage]
}

resource "google_pubsub_topic_iam_member" "storage" {
  for_each = toset([for notification in local.inventory.notifications : notification.topic])

  project = var.project
  topic   = google_pubsub_topic.this[each.key].name
  role    = "roles/pubsub.publisher"
  member  = data.google_storage_project_service_account.this.member
}
