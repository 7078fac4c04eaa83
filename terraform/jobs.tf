# The Jobs of the second runtime, as the code's inventory has them, for each base that has an image. They hold
# nothing, so that they are never protected: without its image or region a Job has to go.
resource "google_cloud_run_v2_job" "this" {
  for_each            = local.jobs
  project             = var.project
  location            = each.value.region
  name                = each.value.name
  deletion_protection = false
  labels              = { managed-by = "mayfly", deployment = var.deployment }

  template {
    template {
      service_account               = google_service_account.this["jobs-task"].email
      max_retries                   = each.value.maxRetries
      timeout                       = "${each.value.timeoutSeconds}s"
      execution_environment         = each.value.executionEnvironment
      gpu_zonal_redundancy_disabled = each.value.gpuZonalRedundancyDisabled ? true : null
      dynamic "node_selector" {
        for_each = each.value.nodeSelector == null ? [] : [each.value.nodeSelector.accelerator]
        content {
          accelerator = node_selector.value
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
