# Everything that can be set: subnetworks of a Shared VPC, own accounts, data, secrets, Jobs with a GPU,
# keys of one's own, alerts that reach somebody, and a budget.
terraform {
  required_version = ">= 1.6"
}

variable "project" {
  description = "Id of an existing project with billing."
  type        = string
}

variable "source_archive" {
  description = "Path of the zipped bundle."
  type        = string
}

variable "billing_account" {
  description = "Id of the billing account that the budget belongs to."
  type        = string
}

module "mayfly" {
  source         = "../.."
  project        = var.project
  region         = "europe-west4"
  regions        = ["europe-west4", "europe-west1"]
  deployment     = "batch"
  source_archive = var.source_archive
  retention_days = 90

  network = { create = false }
  subnetworks = {
    europe-west4 = "projects/shared-host/regions/europe-west4/subnetworks/batch"
    europe-west1 = "projects/shared-host/regions/europe-west1/subnetworks/batch"
  }

  worker_accounts    = ["training@${var.project}.iam.gserviceaccount.com"]
  data_buckets       = ["${var.project}-data", "${var.project}-models"]
  secrets            = ["hf"]
  image_repositories = ["projects/${var.project}/locations/europe/repositories/ml"]

  data_buckets_elsewhere = ["shared-host-data"]

  job_images = {
    base-ml = "europe-docker.pkg.dev/${var.project}/ml/base-ml:1"
    base-dl = "europe-docker.pkg.dev/${var.project}/ml/base-dl:1"
  }
  gpu_jobs = true

  settings  = { MAYFLY_BUDGET_USD_MAX = "200", MAYFLY_TTL_SECONDS_MAX = "172800" }
  functions = { submit = { min_instances = 1, memory = "1Gi" } }

  kms_key                  = "projects/${var.project}/locations/europe-west4/keyRings/mayfly/cryptoKeys/data"
  disk_kms_key             = "projects/${var.project}/locations/global/keyRings/mayfly/cryptoKeys/disks"
  notification_channels    = ["projects/${var.project}/notificationChannels/123"]
  budget                   = { billing_account = var.billing_account, amount = 1000 }
  spend_alert_usd_per_hour = 50
}

output "functions" {
  description = "Function → its address."
  value       = module.mayfly.functions
}
