# Names, and the APIs that everything else waits for. What is read from the project waits for the APIs that
# answer alone: with all of them, an API that is added later would make number and agents unknown, and
# every grant to an agent would be taken away and given back in the middle of the apply.
data "google_project" "this" {
  project_id = var.project
  depends_on = [google_project_service.first]
}

locals {
  bucket = coalesce(var.bucket, "${var.project}-${var.deployment}")
  number = data.google_project.this.number

  # Functions, APIs, topics, Jobs and log filters come from the code: `npm run docs` writes the file, a
  # test compares.
  inventory = jsondecode(replace(replace(
    file("${path.module}/inventory.json"), "{deployment}", var.deployment), "{bucket}", local.bucket
  ))
  functions = toset(local.inventory.functions)
  jobs = merge([
    for region in var.regions : {
      for job in local.inventory.jobs : "${region}/${job.name}" => merge(job, { region = region })
      if contains(keys(var.job_images), job.base) && (job.class != "GPU" || var.gpu_jobs)
    }
  ]...)

  agents = {
    pubsub    = google_project_service_identity.this["pubsub"].member
    scheduler = google_project_service_identity.this["cloudscheduler"].member
    compute   = "serviceAccount:service-${local.number}@compute-system.iam.gserviceaccount.com"
    storage   = "serviceAccount:${data.google_storage_project_service_account.this.email_address}"
  }
}

# Google makes these accounts when they are first needed, which is after our grants: they are asked for.
resource "google_project_service_identity" "this" {
  provider   = google-beta
  for_each   = toset(["pubsub", "cloudscheduler"])
  project    = var.project
  service    = "${each.key}.googleapis.com"
  depends_on = [google_project_service.this]
}

data "google_storage_project_service_account" "this" {
  project    = var.project
  depends_on = [google_project_service.first]
}

locals {
  # Without the first two nothing of a project can be read, nor an API be enabled: the first apply needs them
  # before it begins (docs/operations.md).
  first_services = ["cloudresourcemanager.googleapis.com", "serviceusage.googleapis.com", "storage.googleapis.com"]
}

resource "google_project_service" "first" {
  for_each           = toset(local.first_services)
  project            = var.project
  service            = each.key
  disable_on_destroy = false
}

resource "google_project_service" "this" {
  for_each = setsubtract(concat(
    local.inventory.services,
    var.budget == null ? [] : ["billingbudgets.googleapis.com"],
    length(local.kms_keys) == 0 ? [] : ["cloudkms.googleapis.com"],
  ), local.first_services)
  project            = var.project
  service            = each.key
  disable_on_destroy = false
  depends_on         = [google_project_service.first]
}
