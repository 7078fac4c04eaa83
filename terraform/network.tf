# Machines have no external address: Google's APIs come over Private Google Access, the rest over NAT.

locals {
  own_regions = var.create_network ? [for region in local.regions : region if !contains(keys(var.subnetworks), region)] : []
  subnetworks = merge(var.subnetworks, {
    for region, subnetwork in google_compute_subnetwork.this :
    region => "projects/${var.project}/regions/${region}/subnetworks/${subnetwork.name}"
  })
  # Subnetworks of a host project: using them is granted there.
  shared_subnetworks = { for region, name in var.subnetworks : region => split("/", name) if split("/", name)[1] != var.project }
}

resource "google_compute_network" "this" {
  count = length(local.own_regions) > 0 ? 1 : 0

  project                 = var.project
  name                    = local.name
  auto_create_subnetworks = false

  depends_on = [google_project_service.this]
}

resource "google_compute_subnetwork" "this" {
  for_each = toset(local.own_regions)

  project                  = var.project
  region                   = each.key
  name                     = local.name
  network                  = google_compute_network.this[0].id
  ip_cidr_range            = cidrsubnet(var.network_cidr, 20 - tonumber(split("/", var.network_cidr)[1]), index(local.own_regions, each.key))
  private_ip_google_access = true
}

resource "google_compute_router" "this" {
  for_each = toset(local.own_regions)

  project = var.project
  region  = each.key
  name    = local.name
  network = google_compute_network.this[0].id
}

resource "google_compute_router_nat" "this" {
  for_each = toset(local.own_regions)

  project                            = var.project
  region                             = each.key
  name                               = local.name
  router                             = google_compute_router.this[each.key].name
  nat_ip_allocate_option             = "AUTO_ONLY"
  source_subnetwork_ip_ranges_to_nat = "LIST_OF_SUBNETWORKS"

  subnetwork {
    name                    = google_compute_subnetwork.this[each.key].id
    source_ip_ranges_to_nat = ["ALL_IP_RANGES"]
  }
}

resource "google_compute_subnetwork_iam_member" "shared" {
  for_each = local.shared_subnetworks

  project    = each.value[1]
  region     = each.key
  subnetwork = each.value[5]
  role       = "roles/compute.networkUser"
  member     = google_service_account.this["submit"].member
}
