# What a plan of a fresh project must say; no cloud is asked.
variables {
  project        = "sample-project"
  region         = "europe-west1"
  regions        = ["europe-west1", "us-central1"]
  source_archive = "tests/functions.zip"
}

run "private_functions" {
  command = plan
  assert {
    condition     = alltrue([for f in google_cloudfunctions2_function.this : f.service_config[0].ingress_settings == "ALLOW_INTERNAL_ONLY"])
    error_message = "A function can be reached from outside."
  }
  assert {
    condition     = length(google_cloud_run_service_iam_member.push) == 5 && alltrue([for grant in google_cloud_run_service_iam_member.push : grant.role == "roles/run.invoker"])
    error_message = "Each function has one invoker."
  }
}

run "bucket_keeps_nothing_deleted" {
  command = plan
  assert {
    condition     = google_storage_bucket.this.name == "sample-project-mayfly" && google_storage_bucket.this.uniform_bucket_level_access && google_storage_bucket.this.soft_delete_policy[0].retention_duration_seconds == 0
    error_message = "The bucket is not as the design has it."
  }
  assert {
    condition     = !contains(flatten([for rule in local.lifetimes : rule.prefixes]), "runs/active/")
    error_message = "No rule may delete what says that a run is active."
  }
}

run "no_jobs_without_images" {
  command = plan
  assert {
    condition     = length(google_cloud_run_v2_job.this) == 0
    error_message = "A Job without an image cannot be made."
  }
}

run "jobs_of_each_region" {
  command = plan
  variables {
    job_images = { base-ml = "i", base-dl = "i" }
    gpu_jobs   = true
  }
  assert {
    # S, M, L of two bases and GPU of one, in two regions.
    condition     = length(google_cloud_run_v2_job.this) == 14
    error_message = "The Jobs are not those of the inventory."
  }
}

run "own_subnetworks_are_complete" {
  command = plan
  variables {
    network     = { create = false }
    subnetworks = { europe-west1 = "projects/p/regions/europe-west1/subnetworks/s" }
  }
  expect_failures = [google_cloudfunctions2_function.this]
}

run "settings_of_terraform_stay" {
  command = plan
  variables {
    settings = { MAYFLY_PROJECT = "another" }
  }
  expect_failures = [google_cloudfunctions2_function.this]
}

run "regions_are_regions" {
  command = plan
  variables {
    regions = ["europe-west1-b"]
  }
  expect_failures = [var.regions]
}
