# The least that a deployment needs: a project, a place, and the zipped bundle that `mayfly deploy` makes.
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

module "mayfly" {
  source         = "../.."
  project        = var.project
  region         = "europe-west1"
  regions        = ["europe-west1"]
  source_archive = var.source_archive
}
