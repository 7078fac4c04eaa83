# Accounts, and exactly the rights that each one uses: grants.json is the one table, and everything that
# gives rights reads it (custom roles here, the local cloud, `mayfly doctor`, the test of used rights).
locals {
  accounts = toset(concat(tolist(local.functions), ["build", "push", "worker", "jobs-task", "jobs-reader", "jobs-uploader"]))

  # What the addresses of the project's accounts end with; a project of a domain is domain:name.
  home = "@${join(".", reverse(split(":", var.project)))}.iam.gserviceaccount.com"

  members = { for name, account in google_service_account.this : name => "serviceAccount:${account.email}" }

  grants = {
    for grant in jsondecode(file("${path.module}/grants.json")) :
    join("_", concat([grant.account, grant.on], try(grant.names, []), try(grant.prefixes, []))) => grant
  }

  # One entry a grant and holder: machines may also run as accounts of the user's.
  holders = merge([
    for key, grant in local.grants : {
      for holder in concat([grant.account], grant.account == "worker" ? var.worker_accounts : []) :
      "${key}/${holder}" => merge(grant, {
        key    = key
        member = holder == grant.account ? local.members[holder] : "serviceAccount:${holder}"
      })
    }
  ]...)
  on = { for kind in ["project", "instances", "bucket", "data", "topics", "accounts", "secrets"] :
    kind => { for key, holder in local.holders : key => holder if holder.on == kind }
  }
}

resource "google_service_account" "this" {
  for_each     = local.accounts
  project      = var.project
  account_id   = "${var.deployment}-${each.key}"
  display_name = "Mayfly ${var.deployment}: ${each.key}"
  depends_on   = [google_project_service.this]
}

resource "google_project_iam_custom_role" "this" {
  for_each    = local.grants
  project     = var.project
  role_id     = trim(replace("${var.deployment}_${each.key}", "/[^a-zA-Z0-9]+/", "_"), "_")
  title       = substr("Mayfly ${var.deployment}: ${each.value.account} on ${each.value.on}", 0, 100)
  description = "Made from grants.json"
  permissions = each.value.permissions
  depends_on  = [google_project_service.this]
}

resource "google_project_iam_member" "project" {
  for_each = local.on.project
  project  = var.project
  role     = google_project_iam_custom_role.this[each.value.key].id
  member   = each.value.member
}

# Builds the functions. The project's default account would do it, but new organisations leave that one
# without rights, and old ones give it far too many.
resource "google_project_iam_member" "build" {
  project = var.project
  role    = "roles/cloudbuild.builds.builder"
  member  = local.members["build"]
}

# A machine deletes itself, and with this right no machine that is not the deployment's.
resource "google_project_iam_member" "instances" {
  for_each = local.on.instances
  project  = var.project
  role     = google_project_iam_custom_role.this[each.value.key].id
  member   = each.value.member
  condition {
    title      = "machines of ${var.deployment}"
    expression = "resource.type == \"compute.googleapis.com/Instance\" && resource.name.extract(\"/instances/{name}\").startsWith(\"${var.deployment}-\")"
  }
}

resource "google_storage_bucket_iam_member" "bucket" {
  for_each = local.on.bucket
  bucket   = google_storage_bucket.this.name
  role     = google_project_iam_custom_role.this[each.value.key].id
  member   = each.value.member
  dynamic "condition" {
    for_each = length(try(each.value.prefixes, [])) > 0 ? [each.value.prefixes] : []
    content {
      title = "own objects"
      expression = join(" || ", [
        for prefix in condition.value : "resource.name.startsWith(\"projects/_/buckets/${local.bucket}/objects/${prefix}\")"
      ])
    }
  }
}

# A project's own roles can be granted on what the project owns and nowhere else
# (cloud.google.com/iam/docs/roles-overview#custom-role-level): elsewhere Google's roles have to do, the
# least that hold what is needed.
resource "google_storage_bucket_iam_member" "data" {
  for_each = {
    for pair in setproduct(keys(local.on.data), setunion(var.data_buckets, var.data_buckets_elsewhere)) :
    join("/", pair) => { holder = local.on.data[pair[0]], bucket = pair[1] }
  }
  bucket = each.value.bucket
  role = contains(var.data_buckets, each.value.bucket) ? google_project_iam_custom_role.this[each.value.holder.key].id : (
    contains(each.value.holder.permissions, "storage.objects.create") ? "roles/storage.objectUser" : "roles/storage.objectViewer"
  )
  member = each.value.holder.member
  lifecycle {
    precondition {
      condition     = !contains(setintersection(var.data_buckets, var.data_buckets_elsewhere), each.value.bucket)
      error_message = "${each.value.bucket} is the project's own bucket or another's: name it in `data_buckets` or in `data_buckets_elsewhere`."
    }
  }
}

resource "google_pubsub_topic_iam_member" "publishers" {
  for_each = merge([for key, holder in local.on.topics : { for topic in holder.names : "${key}/${topic}" => merge(holder, { topic = topic }) }]...)
  project  = var.project
  topic    = google_pubsub_topic.this[each.value.topic].name
  role     = google_project_iam_custom_role.this[each.value.key].id
  member   = each.value.member
}

resource "google_service_account_iam_member" "users" {
  for_each           = merge([for key, holder in local.on.accounts : { for name in holder.names : "${key}/${name}" => merge(holder, { name = name }) }]...)
  service_account_id = google_service_account.this[each.value.name].name
  role               = google_project_iam_custom_role.this[each.value.key].id
  member             = each.value.member
}

# Accounts of the user's own: only their owner can let submit use them where they are another project's.
resource "google_service_account_iam_member" "worker_users" {
  for_each           = toset(var.worker_accounts)
  service_account_id = "projects/-/serviceAccounts/${each.key}"
  role               = endswith(each.key, local.home) ? google_project_iam_custom_role.this["submit_accounts_worker"].id : "roles/iam.serviceAccountUser"
  member             = local.members["submit"]
}

resource "google_secret_manager_secret_iam_member" "secrets" {
  for_each  = { for pair in setproduct(keys(local.on.secrets), var.secrets) : join("/", pair) => { holder = local.on.secrets[pair[0]], secret = pair[1] } }
  project   = var.project
  secret_id = each.value.secret
  role      = google_project_iam_custom_role.this[each.value.holder.key].id
  member    = each.value.holder.member
}

resource "google_artifact_registry_repository_iam_member" "images" {
  for_each = {
    for pair in setproduct(concat(["worker"], var.worker_accounts), var.image_repositories) :
    join("/", pair) => { holder = pair[0], path = split("/", pair[1]) }
  }
  project    = each.value.path[1]
  location   = each.value.path[3]
  repository = each.value.path[5]
  role       = "roles/artifactregistry.reader"
  member     = each.value.holder == "worker" ? local.members["worker"] : "serviceAccount:${each.value.holder}"
}
