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
  for_each                 = var.network.create ? { for index, name in var.regions : name => index } : {}
  project                  = var.project
  name                     = "${var.deployment}-${each.key}"
  region                   = each.key
  network                  = google_compute_network.this[0].id
  ip_cidr_range            = cidrsubnet(var.network.cidr, 8, each.value)
  private_ip_google_access = true
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
