# The one bucket. Soft delete and versioning are off: objects are overwritten every minute, and what is
# deleted is meant to be gone.
resource "google_storage_bucket" "this" {
  project                     = var.project
  name                        = local.bucket
  location                    = var.region
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  force_destroy               = !var.deletion_protection
  labels                      = { managed-by = "mayfly", deployment = var.deployment }

  soft_delete_policy {
    retention_duration_seconds = 0
  }
  versioning {
    enabled = false
  }
  dynamic "encryption" {
    for_each = var.kms_key == null ? [] : [var.kms_key]
    content {
      default_kms_key_name = encryption.value
    }
  }
  # All objects of a run expire together; request and result a day later, so that an id is never free
  # while something of its run is still there. A run itself may live for months (waiting, tries again):
  # the longest that the code accepts comes on top, so that no rule takes an object from under a run that
  # is alive.
  dynamic "lifecycle_rule" {
    for_each = local.lifetimes
    content {
      action {
        type = "Delete"
      }
      condition {
        age            = lifecycle_rule.value.days
        matches_prefix = lifecycle_rule.value.prefixes
      }
    }
  }
  lifecycle {
    precondition {
      condition     = var.kms_key == null || try(split("/", var.kms_key)[3], "") == var.region
      error_message = "kms_key has to be in ${var.region}, where the bucket is."
    }
  }
  depends_on = [google_project_service.this, google_kms_crypto_key_iam_member.agents]
}

locals {
  run_days_max = local.inventory.runDaysMax
  lifetimes = [
    { days = 2, prefixes = ["runs/turns/", "runs/offers/"] },
    { days = var.retention_days + local.run_days_max, prefixes = [
      "runs/work/", "runs/gce-status/", "runs/bootstrap/", "runs/ended/", "runs/rejected/", "runs/dead/",
    ] },
    { days = var.retention_days + local.run_days_max + 1, prefixes = ["runs/state/", "runs/results/"] },
  ]
}

# Whose bucket it is: the functions refuse to work with another's.
resource "google_storage_bucket_object" "deployment" {
  bucket  = google_storage_bucket.this.name
  name    = "runs/deployment"
  content = var.deployment
}

resource "google_storage_bucket_object" "source" {
  bucket = google_storage_bucket.this.name
  # The name holds the content's hash: a new bundle is a new object, and the functions are built again.
  name   = "deploy/functions-${filesha256(var.source_archive)}.zip"
  source = var.source_archive
}

locals {
  notifications = {
    "runs/gce-status/" = "run-status"
    "runs/results/"    = "run-results"
    "runs/rejected/"   = "run-results"
  }
}

resource "google_storage_notification" "this" {
  for_each           = local.notifications
  bucket             = google_storage_bucket.this.name
  topic              = google_pubsub_topic.this[each.value].id
  payload_format     = "JSON_API_V1"
  event_types        = ["OBJECT_FINALIZE"]
  object_name_prefix = each.key
  # Without the right of the storage agent the call is refused.
  depends_on = [google_pubsub_topic_iam_member.storage_agent]
}

resource "google_pubsub_topic_iam_member" "storage_agent" {
  for_each = toset(values(local.notifications))
  project  = var.project
  topic    = google_pubsub_topic.this[each.key].name
  role     = "roles/pubsub.publisher"
  member   = local.agents.storage
}

resource "google_kms_crypto_key_iam_member" "agents" {
  for_each      = local.kms_keys
  crypto_key_id = each.value
  role          = "roles/cloudkms.cryptoKeyEncrypterDecrypter"
  member        = local.agents[each.key]
}

locals {
  disk_kms_key = var.disk_kms_key == null ? var.kms_key : var.disk_kms_key
  # Who has to use which key.
  kms_keys = merge(
    var.kms_key == null ? {} : { pubsub = var.kms_key, storage = var.kms_key },
    local.disk_kms_key == null ? {} : { compute = local.disk_kms_key },
  )
  # Where that key is, if it is in one region; global and multi-regional ones are not.
  disk_key_region = try(regex("^[^/]+/[^/]+/locations/([a-z]+-[a-z]+[0-9]+)/", local.disk_kms_key)[0], null)
}
