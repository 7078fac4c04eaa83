locals {
  # The text has {region} open; each Job's is put in below.
  job_kinds = [for job in local.inventory.jobs : job if contains(keys(var.job_images), job.base) && (var.gpu_jobs || job.class != "GPU")]
  jobs = merge([
    for region in local.regions : { for job in local.job_kinds : "${region}/${job.name}" => merge(job, { region = region }) }
  ]...)
}

resource "google_cloud_run_v2_job" "this" {
  for_each = local.jobs

  project             = var.project
  location            = each.value.region
  name                = each.value.name
  deletion_protection = false

  template {
    template {
      service_account               = google_service_account.this["jobs-task"].email
      max_retries                   = each.value.maxRetries
      timeout                       = "${each.value.timeoutSeconds}s"
      execution_environment         = each.value.executionEnvironment
      gpu_zonal_redundancy_disabled = each.value.gpuZonalRedundancyDisabled ? true : null

      dynamic "node_selector" {
        for_each = each.value.nodeSelector == null ? [] : [each.value.nodeSelector]

        content {
          accelerator = node_selector.value.accelerator
        }
      }

      containers {
        image = var.job_images[each.value.base]

        resources {
          limits = each.value.limits
        }

        dynamic "env" {
          for_each = each.value.env

          content {
            name  = env.key
            value = replace(env.value, "{region}", each.value.region)
          }
        }
      }
    }
  }

  depends_on = [google_project_service.this]
}
