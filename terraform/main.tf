locals {
  name      = var.deployment
  bucket    = coalesce(var.bucket, "${var.project}-${var.deployment}")
  regions   = length(var.regions) > 0 ? var.regions : [var.region]
  inventory = jsondecode(replace(replace(file("${path.module}/inventory.json"), "{deployment}", local.name), "{bucket}", local.bucket))
  number    = data.google_project.this.number

  # Google's own accounts of this project.
  pubsub_agent = "serviceAccount:${google_project_service_identity.pubsub.email}"

  sweep_minutes = 2
}

data "google_project" "this" {
  project_id = var.project
}

resource "google_project_service" "this" {
  for_each = toset([
    "artifactregistry.googleapis.com",
    "cloudbuild.googleapis.com",
    "cloudfunctions.googleapis.com",
    "cloudscheduler.googleapis.com",
    "compute.googleapis.com",
    "iam.googleapis.com",
    "iamcredentials.googleapis.com",
    "logging.googleapis.com",
    "monitoring.googleapis.com",
    "pubsub.googleapis.com",
    "run.googleapis.com",
    "secretmanager.googleapis.com",
    "storage.googleapis.com",
  ])

  project = var.project
  service = each.key

  # Others of the project may use them.
  disable_on_destroy = false
}

resource "google_project_service_identity" "pubsub" {
  provider = google-beta

  project = var.project
  service = "pubsub.googleapis.com"

  depends_on = [google_project_service.this]
}

data "google_storage_project_service_account" "this" {
  project = var.project
}
