locals {
  functions = {
    for name, initial in {
      submit   = { memory = "512Mi", cpu = "1", concurrency = 20, max_instances = 20 }
      finalize = { memory = "512Mi", cpu = "1", concurrency = 40, max_instances = 20 }
      signals  = { memory = "512Mi", cpu = "1", concurrency = 40, max_instances = 10 }
      notify   = { memory = "512Mi", cpu = "1", concurrency = 40, max_instances = 10 }
      # Passes that overlap are harmless, and one instance has room for two.
      sweep = { memory = "1Gi", cpu = "1", concurrency = 2, max_instances = 2 }
      } : name => merge(initial, { min_instances = 0, timeout = name == "sweep" ? 1800 : 600 },
    { for key, value in lookup(var.functions, name, {}) : key => value if value != null })
  }

  # The service's own address, known before it is made, so that it can be told to the function itself.
  audiences = { for name in keys(local.functions) : name => "https://${local.name}-${name}-${local.number}.${var.region}.run.app" }

  environment = merge(
    { for name, value in var.settings : "MAYFLY_${name}" => value },
    {
      MAYFLY_PROJECT                       = var.project
      MAYFLY_BUCKET                        = local.bucket
      MAYFLY_DEPLOYMENT                    = local.name
      MAYFLY_REGIONS                       = join(",", local.regions)
      MAYFLY_SUBNETWORKS                   = length(local.subnetworks) == 0 ? "" : jsonencode(local.subnetworks)
      MAYFLY_WORKER_SERVICE_ACCOUNTS       = join(",", [for name in var.worker_accounts : google_service_account.this[name].email])
      MAYFLY_DISK_KMS_KEY                  = var.kms_key
      MAYFLY_RETENTION_DAYS                = tostring(var.retention_days)
      MAYFLY_SWEEP_PERIOD_SECONDS          = tostring(60 * local.sweep_minutes)
      MAYFLY_PUSH_MODE                     = "platform"
      MAYFLY_PUSH_SERVICE_ACCOUNTS         = google_service_account.this["push"].email
      MAYFLY_PUSH_SUBSCRIPTIONS            = join(",", [for subscription in local.inventory.subscriptions : "projects/${var.project}/subscriptions/${local.name}-${subscription.name}"])
      MAYFLY_JOBS_GPU_JOBS                 = tostring(var.gpu_jobs)
      MAYFLY_JOBS_READER_SERVICE_ACCOUNT   = google_service_account.this["jobs-reader"].email
      MAYFLY_JOBS_UPLOADER_SERVICE_ACCOUNT = google_service_account.this["jobs-uploader"].email
    },
  )
}

resource "google_cloudfunctions2_function" "this" {
  for_each = local.functions

  project     = var.project
  location    = var.region
  name        = "${local.name}-${each.key}"
  description = "Mayfly: ${each.key}"

  build_config {
    runtime         = "nodejs24"
    entry_point     = each.key
    service_account = google_service_account.this["build"].id

    source {
      storage_source {
        bucket = google_storage_bucket.this.name
        object = google_storage_bucket_object.source.name
      }
    }
  }

  service_config {
    service_account_email            = google_service_account.this[each.key].email
    available_memory                 = each.value.memory
    available_cpu                    = each.value.cpu
    max_instance_request_concurrency = each.value.concurrency
    min_instance_count               = each.value.min_instances
    max_instance_count               = each.value.max_instances
    timeout_seconds                  = each.value.timeout
    ingress_settings                 = var.ingress
    all_traffic_on_latest_revision   = true
    environment_variables            = merge(local.environment, { MAYFLY_PUSH_AUDIENCE = local.audiences[each.key] })
  }

  depends_on = [
    google_project_service.this,
    google_project_iam_member.build,
    google_storage_bucket_object.deployment,
  ]
}

# On the service below the function: the right to call it cannot be given on the function itself.
resource "google_cloud_run_service_iam_member" "push" {
  for_each = local.functions

  project  = var.project
  location = var.region
  service  = google_cloudfunctions2_function.this[each.key].name
  role     = "roles/run.invoker"
  member   = google_service_account.this["push"].member
}

# Builds run in their own name, not in that of the project's default account, which may edit everything.
resource "google_project_iam_member" "build" {
  project = var.project
  role    = "roles/cloudbuild.builds.builder"
  member  = google_service_account.this["build"].member
}

resource "google_cloud_scheduler_job" "sweep" {
  project          = var.project
  region           = var.region
  name             = "${local.name}-sweep"
  description      = "Mayfly: deletes what should be gone"
  schedule         = "*/${local.sweep_minutes} * * * *"
  time_zone        = "Etc/UTC"
  attempt_deadline = "1800s"
  paused           = var.sweep_paused

  http_target {
    uri         = "${google_cloudfunctions2_function.this["sweep"].service_config[0].uri}/"
    http_method = "POST"

    oidc_token {
      service_account_email = google_service_account.this["push"].email
      audience              = local.audiences["sweep"]
    }
  }

  depends_on = [google_cloud_run_service_iam_member.push]
}
