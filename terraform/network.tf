# A network of its own: machines have no external address, reach Google's APIs privately, and the rest of
# the internet through NAT where that is wanted. Nothing may reach a machine.
resource "google_compute_network" "this" {
  count                   = var.network.create ? 1 : 0
  project                 = var.project
  name                    = var.deployment
  auto_create_subnetworks = false
  depends_on              = [google_project_service.this]
}

resource "google_compute_subnetwork" "this" {
  for_each                 = var.network.create ? toset(var.regions) : []
  project                  = var.project
  name                     = "${var.deployment}-${each.key}"
  region                   = each.key
  network                  = google_compute_network.this[0].id
  ip_cidr_range            = local.ranges[each.key]
  private_ip_google_access = true
  lifecycle {
    precondition {
      condition     = local.ranges[each.key] != null
      error_message = "network.ranges has to name the range of ${each.key}: no range is kept for this region."
    }
  }
}

resource "google_compute_router" "this" {
  for_each = var.network.create && var.network.nat ? toset(var.regions) : []
  project  = var.project
  name     = "${var.deployment}-${each.key}"
  region   = each.key
  network  = google_compute_network.this[0].id
}

resource "google_compute_router_nat" "this" {
  for_each                           = google_compute_router.this
  project                            = var.project
  name                               = each.value.name
  region                             = each.key
  router                             = each.value.name
  nat_ip_allocate_option             = "AUTO_ONLY"
  source_subnetwork_ip_ranges_to_nat = "ALL_SUBNETWORKS_ALL_IP_RANGES"
}

locals {
  # A region's range follows from its place in this list, never from its place in `regions`: another order
  # there must move no subnetwork. New regions are added at the end.
  known_regions = [
    "africa-south1", "asia-east1", "asia-east2", "asia-northeast1", "asia-northeast2", "asia-northeast3",
    "asia-south1", "asia-south2", "asia-southeast1", "asia-southeast2", "australia-southeast1",
    "australia-southeast2", "europe-central2", "europe-north1", "europe-north2", "europe-southwest1",
    "europe-west1", "europe-west10", "europe-west12", "europe-west2", "europe-west3", "europe-west4",
    "europe-west6", "europe-west8", "europe-west9", "me-central1", "me-central2", "me-west1",
    "northamerica-northeast1", "northamerica-northeast2", "northamerica-south1", "southamerica-east1",
    "southamerica-west1", "us-central1", "us-east1", "us-east4", "us-east5", "us-south1", "us-west1",
    "us-west2", "us-west3", "us-west4",
  ]
  ranges = { for name in var.regions : name => try(
    var.network.ranges[name], cidrsubnet(var.network.cidr, 8, index(local.known_regions, name)), null,
  ) }

  subnetworks = var.network.create ? {
    for name, subnetwork in google_compute_subnetwork.this : name => "projects/${var.project}/regions/${name}/subnetworks/${subnetwork.name}"
  } : var.subnetworks
}

# A subnetwork of another project (Shared VPC) has to be shared with who creates machines there.
resource "google_compute_subnetwork_iam_member" "shared" {
  for_each   = { for name, path in var.subnetworks : name => split("/", path) if !var.network.create && split("/", path)[1] != var.project }
  project    = each.value[1]
  region     = each.value[3]
  subnetwork = each.value[5]
  role       = "roles/compute.networkUser"
  member     = local.members["submit"]
}
