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
  assert {
    # The 17th and the 34th of the parts of 10.128.0.0/12.
    condition     = google_compute_subnetwork.this["europe-west1"].ip_cidr_range == "10.129.0.0/20" && google_compute_subnetwork.this["us-central1"].ip_cidr_range == "10.130.16.0/20"
    error_message = "A region's range has moved."
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

run "a_new_region_needs_a_range" {
  command = plan
  variables {
    regions = ["mars-north1"]
  }
  expect_failures = [google_compute_subnetwork.this]
}

run "another_order_of_regions_moves_no_subnetwork" {
  command = plan
  variables {
    regions = ["mars-north1", "us-west4", "us-central1", "europe-west1"]
    network = { ranges = { mars-north1 = "10.9.0.0/20" } }
  }
  assert {
    condition = { for region, subnetwork in google_compute_subnetwork.this : region => subnetwork.ip_cidr_range } == {
      mars-north1  = "10.9.0.0/20"
      us-west4     = "10.130.144.0/20"
      us-central1  = "10.130.16.0/20"
      europe-west1 = "10.129.0.0/20"
    }
    error_message = "A region's range follows from its place in `regions`, or the range that is given is not taken."
  }
}

run "disks_in_two_regions_need_a_key_for_both" {
  command = plan
  variables {
    kms_key = "projects/p/locations/europe-west1/keyRings/r/cryptoKeys/k"
  }
  expect_failures = [google_cloudfunctions2_function.this]
}

run "a_global_key_serves_every_disk" {
  command = plan
  variables {
    kms_key      = "projects/p/locations/europe-west1/keyRings/r/cryptoKeys/k"
    disk_kms_key = "projects/p/locations/global/keyRings/r/cryptoKeys/d"
  }
  assert {
    condition = { for agent, grant in google_kms_crypto_key_iam_member.agents : agent => grant.crypto_key_id } == {
      compute = "projects/p/locations/global/keyRings/r/cryptoKeys/d"
      pubsub  = "projects/p/locations/europe-west1/keyRings/r/cryptoKeys/k"
      storage = "projects/p/locations/europe-west1/keyRings/r/cryptoKeys/k"
    }
    error_message = "Each agent uses the key of what it keeps."
  }
  assert {
    condition     = google_cloudfunctions2_function.this["submit"].service_config[0].environment_variables["MAYFLY_DISK_KMS_KEY"] == "projects/p/locations/global/keyRings/r/cryptoKeys/d"
    error_message = "Machines are not given the key of the disks."
  }
}

run "the_bucket_needs_a_key_in_its_region" {
  command = plan
  variables {
    kms_key      = "projects/p/locations/global/keyRings/r/cryptoKeys/k"
    disk_kms_key = "projects/p/locations/global/keyRings/r/cryptoKeys/k"
  }
  expect_failures = [google_storage_bucket.this]
}

run "a_data_bucket_is_of_one_project" {
  command = plan
  variables {
    data_buckets           = ["b"]
    data_buckets_elsewhere = ["b"]
  }
  expect_failures = [google_storage_bucket_iam_member.data]
}
