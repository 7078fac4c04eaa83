# What each account may do stands in grants.json, one table for this, for the tests and for the doctor.

locals {
  accounts = toset(concat(
    ["submit", "finalize", "signals", "sweep", "notify", "push", "build", "jobs-task", "jobs-reader", "jobs-uploader"],
    var.worker_accounts,
  ))

  grants = {
    for grant in jsondecode(file("${path.module}/grants.json")) :
    join("_", [for word in compact([grant.account, grant.on, try(grant.names[0], ""), try(grant.prefixes[0], "")]) : trim(replace(word, "/[^a-z0-9]+/", "_"), "_")]) => grant
  }

  # One entry for each grant and account that has it.
  holders = merge([
    for key, grant in local.grants : {
      for account in grant.account == "worker" ? var.worker_accounts : [grant.account] :
      "${key}/${account}" => merge({ names = [], prefixes = [] }, grant, { role = key, member = account })
    }
  ]...)

  grants_on = {
    for on in ["project", "instances", "bucket", "data", "topics", "accounts", "secrets"] :
    on => { for key, holder in local.holders : key => holder if holder.on == on }
  }
  data_grants   = merge([for key, holder in local.grants_on.data : { for bucket in var.data_buckets : "${key}/${bucket}" => merge(holder, { target = bucket }) }]...)
  topic_grants  = merge([for key, holder in local.grants_on.topics : { for topic in holder.names : "${key}/${topic}" => merge(holder, { target = topic }) }]...)
  secret_grants = merge([for key, holder in local.grants_on.secrets : { for secret in var.secrets : "${key}/${secret}" => merge(holder, { target = secret }) }]...)
  account_grants = merge([
    for key, holder in local.grants_on.accounts : {
      for account in flatten([for name in holder.names : name == "worker" ? var.worker_accounts : [name]]) :
      "${key}/${account}" => merge(holder, { target = account })
    }
  ]...)
  image_grants = merge([
    for account in var.worker_accounts : { for repository in var.image_repositories : "${account}/${repository}" => { member = account, target = split("/", repository) } }
  ]...)
}

resource "google_service_account" "this" {
  for_each = local.accounts

  project      = var.project
  account_id   = "${local.name}-${each.key}"
  display_name = "Mayfly ${local.name}: ${each.key}"

  depends_on = [google_project_service.this]
}

resource "google_project_iam_custom_role" "this" {
  for_each = local.grants

  project     = var.project
  role_id     = replace("${local.name}_${each.key}", "-", "_")
  title       = "Mayfly ${local.name}: ${each.value.account} on ${each.value.on}"
  permissions = each.value.permissions

  depends_on = [google_project_service.this]
}

resource "google_project_iam_member" "project" {
  for_each = local.grants_on.project

  project = var.project
  role    = google_project_iam_custom_role.this[each.value.role].name
  member  = google_service_account.this[each.value.member].member
}

resource "google_project_iam_member" "instances" {
  for_each = local.grants_on.instances

  project = var.project
  role    = google_project_iam_custom_role.this[each.value.role].name
  member  = google_service_account.this[each.value.member].member

  condition {
    title      = "machines of ${local.name}"
    expression = "resource.type == \"compute.googleapis.com/Instance\" && resource.name.extract(\"/instances/{name}\").startsWith(\"${local.name}-\")"
  }
}

resource "google_storage_bucket_iam_member" "bucket" {
  for_each = local.grants_on.bucket

  bucket = google_storage_bucket.this.name
  role   = google_project_iam_custom_role.this[each.value.role].name
  member = google_service_account.this[each.value.member].member

  dynamic "condition" {
    for_each = length(each.value.prefixes) == 0 ? [] : [each.value.prefixes]

    content {
      title      = "objects of ${each.value.account}"
      expression = join(" || ", [for prefix in condition.value : "resource.name.startsWith(\"projects/_/buckets/${local.bucket}/objects/${prefix}\")"])
    }
  }
}

resource "google_storage_bucket_iam_member" "data" {
  for_each = local.data_grants

  bucket = each.value.target
  role   = google_project_iam_custom_role.this[each.value.role].name
  member = google_service_account.this[each.value.member].member
}

resource "google_pubsub_topic_iam_member" "grants" {
  for_each = local.topic_grants

  project = var.project
  topic   = google_pubsub_topic.this[each.value.target].name
  role    = google_project_iam_custom_role.this[each.value.role].name
  member  = google_service_account.this[each.value.member].member
}

resource "google_service_account_iam_member" "grants" {
  for_each = local.account_grants

  service_account_id = google_service_account.this[each.value.target].name
  role               = google_project_iam_custom_role.this[each.value.role].name
  member             = google_service_account.this[each.value.member].member
}

# A custom role of this project cannot be given on another project's secret or repository; these two can.
resource "google_secret_manager_secret_iam_member" "this" {
  for_each = local.secret_grants

  project   = split("/", each.value.target)[1]
  secret_id = split("/", each.value.target)[3]
  role      = "roles/secretmanager.secretAccessor"
  member    = google_service_account.this[each.value.member].member
}

resource "google_artifact_registry_repository_iam_member" "this" {
  for_each = local.image_grants

  project    = each.value.target[1]
  location   = each.value.target[3]
  repository = each.value.target[5]
  role       = "roles/artifactregistry.reader"
  member     = google_service_account.this[each.value.member].member
}

locals {
  key_users = var.kms_key == "" ? {} : {
    storage = data.google_storage_project_service_account.this.member
    pubsub  = local.pubsub_agent
    compute = "serviceAccount:service-${local.number}@compute-system.iam.gserviceaccount.com"
  }
}

resource "google_kms_crypto_key_iam_member" "this" {
  for_each = local.key_users

  crypto_key_id = var.kms_key
  role          = "roles/cloudkms.cryptoKeyEncrypterDecrypter"
  member        = each.value

  depends_on = [google_project_service.this]
}
