variable "project" {
  description = "Id of the project that everything lives in."
  type        = string
  validation {
    condition     = can(regex("^[a-z][a-z0-9.:-]{4,61}[a-z0-9]$", var.project))
    error_message = "A project is given by its id, for example my-project-123, not by its number or display name."
  }
}

variable "region" {
  description = "Region of the functions, the bucket and the sweep's schedule."
  type        = string
  validation {
    condition     = can(regex("^[a-z]+-[a-z]+[0-9]{1,2}$", var.region))
    error_message = "A region is given by its name, for example europe-west1 (no zone)."
  }
}

variable "regions" {
  description = "Regions where machines and executions may run, best first. There is no default: data must not land somewhere by accident."
  type        = list(string)
  validation {
    condition     = length(var.regions) > 0 && alltrue([for name in var.regions : can(regex("^[a-z]+-[a-z]+[0-9]{1,2}$", name))])
    error_message = "Give one region at least, each by its name, for example [\"europe-west1\"]."
  }
}

variable "deployment" {
  description = "Name of the installation: the prefix of all names, and a label."
  type        = string
  default     = "mayfly"
  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{0,15}$", var.deployment))
    error_message = "The name has 16 characters at most: lower-case letters, digits and hyphens, a letter first."
  }
}

variable "bucket" {
  description = "Name of the deployment's bucket; null: <project>-<deployment>. No two deployments share one."
  type        = string
  default     = null
}

variable "source_archive" {
  description = "Path of the zipped bundle of the functions; `mayfly deploy` makes it."
  type        = string
}

variable "retention_days" {
  description = "How many days the objects of a run are kept, and its id stays taken, after the longest that a run may last (10 tries, each of which may wait 7 days and live 7 days)."
  type        = number
  default     = 30
  validation {
    condition     = var.retention_days >= 1 && var.retention_days <= 3650 && floor(var.retention_days) == var.retention_days
    error_message = "retention_days is a whole number from 1 to 3650."
  }
}

variable "network" {
  description = "Own network with one subnetwork a region (Private Google Access, and NAT where `nat` is true), each of which has its part of `cidr`, or the range that `ranges` gives its region; create = false takes the given `subnetworks`."
  type = object({
    create = optional(bool, true)
    nat    = optional(bool, true)
    cidr   = optional(string, "10.128.0.0/12")
    ranges = optional(map(string), {})
  })
  default  = {}
  nullable = false
  validation {
    condition     = can(cidrsubnet(var.network.cidr, 8, 0)) && alltrue([for range in values(var.network.ranges) : can(cidrhost(range, 0))])
    error_message = "Ranges are given as 10.128.0.0/12; `cidr` is divided by 256."
  }
}

variable "subnetworks" {
  description = "Region → full path of a subnetwork of yours (also of a Shared VPC's host project), where network.create is false."
  type        = map(string)
  default     = {}
  validation {
    condition     = alltrue([for path in values(var.subnetworks) : can(regex("^projects/[^/]+/regions/[^/]+/subnetworks/[^/]+$", path))])
    error_message = "A subnetwork is given as projects/PROJECT/regions/REGION/subnetworks/NAME."
  }
}

variable "worker_accounts" {
  description = "E-mail addresses of accounts of yours that machines may run as, besides the deployment's own. On one of another project submit gets roles/iam.serviceAccountUser."
  type        = list(string)
  default     = []
}

variable "data_buckets" {
  description = "Buckets of the project that runs may read inputs from and write outputs to."
  type        = set(string)
  default     = []
}

variable "data_buckets_elsewhere" {
  description = "The same for buckets of other projects: no role of this project can be granted there, so that accounts get roles/storage.objectViewer or roles/storage.objectUser, a little more than they use."
  type        = set(string)
  default     = []
}

variable "secrets" {
  description = "Ids of the project's secrets that runs may use."
  type        = set(string)
  default     = []
}

variable "image_repositories" {
  description = "Artifact Registry repositories (projects/P/locations/L/repositories/R) that machines may pull from."
  type        = set(string)
  default     = []
  validation {
    condition     = alltrue([for path in var.image_repositories : can(regex("^projects/[^/]+/locations/[^/]+/repositories/[^/]+$", path))])
    error_message = "A repository is given as projects/PROJECT/locations/LOCATION/repositories/NAME."
  }
}

variable "job_images" {
  description = "Base → image with the supervisor (scripts/images/build.ts makes them), for runs on Cloud Run Jobs; a base without an image has no Jobs."
  type        = map(string)
  default     = {}
}

variable "gpu_jobs" {
  description = "Whether the class GPU is on offer: the Job of base-dl with one L4."
  type        = bool
  default     = false
}

variable "settings" {
  description = "More settings of the functions (MAYFLY_… variables of docs/reference.md) → value; those that Terraform sets itself are refused."
  type        = map(string)
  default     = {}
  validation {
    condition     = alltrue([for name in keys(var.settings) : startswith(name, "MAYFLY_")])
    error_message = "A setting is named MAYFLY_…"
  }
}

variable "functions" {
  description = "Size of each function; what is left out has a default that fits thousands of runs a day."
  type = map(object({
    memory        = optional(string)
    cpu           = optional(string)
    concurrency   = optional(number)
    min_instances = optional(number)
    max_instances = optional(number)
  }))
  default = {}
  validation {
    condition     = alltrue([for name in keys(var.functions) : contains(["submit", "finalize", "sweep", "signals", "notify"], name)])
    error_message = "The functions are submit, finalize, sweep, signals and notify."
  }
}

variable "ingress" {
  description = "Who reaches the functions' addresses at all; the invoker's right is asked for in any case."
  type        = string
  default     = "ALLOW_INTERNAL_ONLY"
  validation {
    condition     = contains(["ALLOW_INTERNAL_ONLY", "ALLOW_INTERNAL_AND_GCLB", "ALLOW_ALL"], var.ingress)
    error_message = "ingress is ALLOW_INTERNAL_ONLY, ALLOW_INTERNAL_AND_GCLB or ALLOW_ALL."
  }
}

variable "kms_key" {
  description = "Cloud KMS key (full name, in `region`) for bucket and topics, and for boot disks where `disk_kms_key` names no other; null: Google's own keys."
  type        = string
  default     = null
  validation {
    condition     = var.kms_key == null || can(regex("^projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+$", var.kms_key))
    error_message = "A key is given as projects/P/locations/L/keyRings/R/cryptoKeys/K, without a version."
  }
}

variable "disk_kms_key" {
  description = "Cloud KMS key of the boot disks; it has to serve all of `regions`: in the one region, global, or of a multi-region. null: as `kms_key`."
  type        = string
  default     = null
  validation {
    condition     = var.disk_kms_key == null || can(regex("^projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+$", var.disk_kms_key))
    error_message = "A key is given as projects/P/locations/L/keyRings/R/cryptoKeys/K, without a version."
  }
}

variable "notification_channels" {
  description = "Full names of the Monitoring notification channels that alerts go to; none: alerts stand in the console alone."
  type        = list(string)
  default     = []
}

variable "budget" {
  description = "Monthly budget of the project with mails at 50, 90 and 100 %; null: none. `billing_account` is its id, and `amount` is in its currency."
  type = object({
    billing_account = string
    amount          = number
  })
  default = null
}

variable "spend_alert_usd_per_hour" {
  description = "An alert says so when runs that ended within an hour have cost more."
  type        = number
  default     = 100
}

variable "deletion_protection" {
  description = "Keeps Terraform from deleting a bucket that still holds runs, whether it is to be destroyed or replaced. To take a deployment away, apply with false first, then destroy."
  type        = bool
  default     = true
}
