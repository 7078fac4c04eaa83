# The five functions, all from one archive. Private: the push account alone may call them, and that right
# stands on the Cloud Run service behind the function (the function itself takes none).
locals {
  # Cloud Run's address of a service that can be told before the service is there, so that a function
  # can be given its own audience. Every service has it beside one with a hash, a function's too, as long
  # as name and project number have 63 characters together (cloud.google.com/run/docs/triggering/https-request,
  # "Deterministic URL"): here at most 16 + 9 + 1 + 12. Cloud Run takes a token for the service's own
  # run.app address, whatever else is configured (…/run/docs/configuring/custom-audiences); subscriptions
  # and scheduler ask for tokens for this one, and the functions compare with this one exactly. A
  # service whose default address is disabled gets no pushes.
  urls = { for name in local.functions : name => "https://${var.deployment}-${name}-${local.number}.${var.region}.run.app" }

  sizes = { for name in local.functions : name => {
    memory        = coalesce(try(var.functions[name].memory, null), name == "sweep" ? "1Gi" : "512Mi")
    cpu           = coalesce(try(var.functions[name].cpu, null), "1")
    concurrency   = coalesce(try(var.functions[name].concurrency, null), name == "sweep" ? 1 : 8)
    min_instances = coalesce(try(var.functions[name].min_instances, null), 0)
    max_instances = coalesce(try(var.functions[name].max_instances, null), name == "sweep" ? 2 : 20)
  } }

  worker_emails = concat([google_service_account.this["worker"].email], var.worker_accounts)

  # Names that the code knows; a test holds the two together.
  environment = {
    MAYFLY_PROJECT                       = var.project
    MAYFLY_BUCKET                        = google_storage_bucket.this.name
    MAYFLY_DEPLOYMENT                    = var.deployment
    MAYFLY_REGIONS                       = join(",", var.regions)
    MAYFLY_SUBNETWORKS                   = jsonencode(local.subnetworks)
    MAYFLY_WORKER_SERVICE_ACCOUNTS       = join(",", local.worker_emails)
    MAYFLY_JOBS_READER_SERVICE_ACCOUNT   = google_service_account.this["jobs-reader"].email
    MAYFLY_JOBS_UPLOADER_SERVICE_ACCOUNT = google_service_account.this["jobs-uploader"].email
    MAYFLY_JOBS_GPU_JOBS                 = tostring(var.gpu_jobs)
    MAYFLY_RETENTION_DAYS                = tostring(var.retention_days)
    MAYFLY_SWEEP_PERIOD_SECONDS          = "120"
    MAYFLY_DISK_KMS_KEY                  = local.disk_kms_key == null ? "" : local.disk_kms_key
    MAYFLY_PUSH_MODE                     = "platform"
    MAYFLY_PUSH_SERVICE_ACCOUNTS         = google_service_account.this["push"].email
  }
  environments = { for name in local.functions : name => merge(local.environment, {
    MAYFLY_PUSH_AUDIENCE      = local.urls[name]
    MAYFLY_PUSH_SUBSCRIPTIONS = join(",", [for key, subscription in local.subscriptions : "${var.deployment}-${key}" if subscription.function == name])
  }) }
  settings_twice = setintersection(keys(var.settings), flatten([for own in local.environments : keys(own)]))
}

resource "google_cloudfunctions2_function" "this" {
  for_each     = local.functions
  project      = var.project
  name         = "${var.deployment}-${each.key}"
  location     = var.region
  kms_key_name = null
  labels       = { managed-by = "mayfly", deployment = var.deployment }

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
    ingress_settings                 = var.ingress
    all_traffic_on_latest_revision   = true
    available_memory                 = local.sizes[each.key].memory
    available_cpu                    = local.sizes[each.key].cpu
    max_instance_request_concurrency = local.sizes[each.key].concurrency
    min_instance_count               = local.sizes[each.key].min_instances
    max_instance_count               = local.sizes[each.key].max_instances
    timeout_seconds                  = each.key == "sweep" ? 1800 : 600
    environment_variables            = merge(var.settings, local.environments[each.key])
  }

  lifecycle {
    precondition {
      condition     = length(local.settings_twice) == 0
      error_message = "`settings` names what Terraform sets by variables of its own: ${join(", ", local.settings_twice)}."
    }
    precondition {
      condition     = var.network.create || length(setsubtract(var.regions, keys(var.subnetworks))) == 0
      error_message = "`subnetworks` names no subnetwork for ${join(", ", setsubtract(var.regions, keys(var.subnetworks)))}; network.create = true makes them."
    }
    precondition {
      condition     = local.disk_key_region == null || length(setsubtract(var.regions, [coalesce(local.disk_key_region, "none")])) == 0
      error_message = "Boot disks in ${join(", ", setsubtract(var.regions, [coalesce(local.disk_key_region, "none")]))} cannot use a key in ${coalesce(local.disk_key_region, "none")}: give `disk_kms_key` one that serves all of `regions`, a global one for example."
    }
  }
  # A function that starts before its rights are there fails its first requests; they are delivered again.
  depends_on = [google_storage_bucket_iam_member.bucket, google_storage_bucket_object.deployment, time_sleep.build]
}

# A build that begins before its rights are known fails, and is not tried again: IAM takes about two minutes
# (cloud.google.com/iam/docs/access-change-propagation).
resource "time_sleep" "build" {
  create_duration = "120s"
  triggers        = { grant = google_project_iam_member.build.id }
}

resource "google_cloud_run_service_iam_member" "push" {
  for_each = google_cloudfunctions2_function.this
  project  = var.project
  location = var.region
  service  = each.value.name
  role     = "roles/run.invoker"
  member   = local.members["push"]
}

# The sweep's clock. Overlapping passes are harmless; a pass may take its whole half hour.
resource "google_cloud_scheduler_job" "sweep" {
  project          = var.project
  region           = var.region
  name             = "${var.deployment}-sweep"
  description      = "Looks at everything that carries the deployment's label"
  schedule         = "*/2 * * * *"
  time_zone        = "Etc/UTC"
  attempt_deadline = "1800s"
  http_target {
    uri         = "${local.urls["sweep"]}/"
    http_method = "POST"
    oidc_token {
      service_account_email = google_service_account.this["push"].email
      audience              = local.urls["sweep"]
    }
  }
  depends_on = [google_cloud_run_service_iam_member.push]
}
