variable "project" {
  description = "The project that everything lives in."
  type        = string

  validation {
    condition     = can(regex("^([a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]$", var.project))
    error_message = "A project is given by its id, not by its number or name."
  }
}

variable "region" {
  description = "Where functions, bucket and scheduler job are. No default: data must not land somewhere by accident."
  type        = string

  validation {
    condition     = can(regex("^[a-z]+-[a-z]+[0-9]{1,2}$", var.region))
    error_message = "A region is given by its name, like europe-west1."
  }
}

variable "regions" {
  description = "Where machines and Jobs may run, best first; empty: var.region alone."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for region in var.regions : can(regex("^[a-z]+-[a-z]+[0-9]{1,2}$", region))]) && length(distinct(var.regions)) == length(var.regions)
    error_message = "Regions are given by their names, like europe-west1, each once."
  }
}

variable "deployment" {
  description = "The installation's name: prefix of machines, topics, subscriptions and accounts."
  type        = string
  default     = "mayfly"

  # Google's service account ids have 30 characters at most; the longest of ours is D-jobs-uploader.
  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{0,15}$", var.deployment)) && !endswith(var.deployment, "-")
    error_message = "A deployment's name has 1 to 16 lower-case letters, digits and hyphens, begins with a letter and ends with none of the hyphens."
  }
}

variable "bucket" {
  description = "The deployment's own bucket; empty: <project>-<deployment>."
  type        = string
  default     = ""

  validation {
    condition     = var.bucket == "" || can(regex("^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$", var.bucket))
    error_message = "A bucket's name has 3 to 63 lower-case letters, digits, hyphens, dots and underscores."
  }
}

variable "source_archive" {
  description = "Path of the functions' zip, as `mayfly deploy` makes it."
  type        = string
}

variable "retention_days" {
  description = "How long the objects of a run are kept, and its id stays taken."
  type        = number
  default     = 30

  validation {
    condition     = var.retention_days >= 1 && var.retention_days <= 3650 && floor(var.retention_days) == var.retention_days
    error_message = "From 1 to 3650 whole days."
  }
}

variable "force_destroy" {
  description = "Whether `terraform destroy` may delete a bucket that holds objects. For test deployments."
  type        = bool
  default     = false
}

variable "settings" {
  description = "Further settings of the functions, without MAYFLY_: { TTL_SECONDS_MAX = \"172800\" }. What Terraform sets itself cannot be set here."
  type        = map(string)
  default     = {}

  validation {
    condition     = alltrue([for name in keys(var.settings) : can(regex("^[A-Z][A-Z0-9_]+$", name)) && !startswith(name, "MAYFLY_")])
    error_message = "Settings are given in capital letters and without MAYFLY_."
  }

  validation {
    condition = length(setintersection(keys(var.settings), [
      "PROJECT", "BUCKET", "DEPLOYMENT", "REGIONS", "SUBNETWORKS", "WORKER_SERVICE_ACCOUNTS",
      "DISK_KMS_KEY", "RETENTION_DAYS", "SWEEP_PERIOD_SECONDS", "PUSH_MODE", "PUSH_AUDIENCE",
      "PUSH_SERVICE_ACCOUNTS", "PUSH_SUBSCRIPTIONS", "JOBS_GPU_JOBS", "JOBS_READER_SERVICE_ACCOUNT",
      "JOBS_UPLOADER_SERVICE_ACCOUNT", "JOBS_JOB_TEMPLATE", "JOBS_PLUGIN_BASES", "JOBS_DEFAULT_BASE",
    ])) == 0
    error_message = "This setting follows from a variable or from what Terraform makes."
  }
}

variable "functions" {
  description = "Size of single functions, by name (submit, finalize, signals, sweep, notify); what is left out has a default."
  type = map(object({
    memory        = optional(string)
    cpu           = optional(string)
    concurrency   = optional(number)
    min_instances = optional(number)
    max_instances = optional(number)
  }))
  default = {}

  validation {
    condition     = alltrue([for name in keys(var.functions) : contains(["submit", "finalize", "signals", "sweep", "notify"], name)])
    error_message = "The functions are submit, finalize, signals, sweep and notify."
  }
}

variable "ingress" {
  description = "Which network may reach the functions: Pub/Sub and Cloud Scheduler of the project count as internal."
  type        = string
  default     = "ALLOW_INTERNAL_ONLY"

  validation {
    condition     = contains(["ALLOW_INTERNAL_ONLY", "ALLOW_INTERNAL_AND_GCLB", "ALLOW_ALL"], var.ingress)
    error_message = "ALLOW_INTERNAL_ONLY, ALLOW_INTERNAL_AND_GCLB or ALLOW_ALL."
  }
}

variable "sweep_paused" {
  description = "Whether the sweep is paused. Machines then end by their own time limit alone."
  type        = bool
  default     = false
}

variable "create_network" {
  description = "Whether to make a network with Private Google Access and NAT for the machines, in regions that var.subnetworks leaves out."
  type        = bool
  default     = true
}

variable "subnetworks" {
  description = "Region → given subnetwork as projects/P/regions/R/subnetworks/S; of a Shared VPC's host project too. It needs Private Google Access, and NAT for other registries than Google's."
  type        = map(string)
  default     = {}

  validation {
    condition     = alltrue([for region, name in var.subnetworks : can(regex("^projects/[^/]+/regions/${region}/subnetworks/[^/]+$", name))])
    error_message = "A subnetwork is given as projects/P/regions/R/subnetworks/S, under its own region."
  }
}

variable "network_cidr" {
  description = "Range that the made network's subnetworks are cut from, a /20 each."
  type        = string
  default     = "10.128.0.0/12"

  validation {
    condition     = can(cidrsubnet(var.network_cidr, 1, 0))
    error_message = "A range in CIDR form, like 10.128.0.0/12."
  }
}

variable "worker_accounts" {
  description = "Accounts that machines may run as, without the deployment's prefix; the first is a request's default."
  type        = list(string)
  default     = ["worker"]

  validation {
    condition     = length(var.worker_accounts) > 0 && length(distinct(var.worker_accounts)) == length(var.worker_accounts) && alltrue([for name in var.worker_accounts : can(regex("^[a-z][a-z0-9-]{1,12}$", name)) && !contains(["submit", "finalize", "signals", "sweep", "notify", "push", "build", "jobs-task", "jobs-reader", "jobs-uploader"], name)])
    error_message = "At least one name of 2 to 13 lower-case letters, digits and hyphens, each once, and none of another account's."
  }
}

variable "data_buckets" {
  description = "Further buckets that runs may read from and write to."
  type        = set(string)
  default     = []
}

variable "secrets" {
  description = "Secrets that runs may read, as projects/P/secrets/S."
  type        = set(string)
  default     = []

  validation {
    condition     = alltrue([for name in var.secrets : can(regex("^projects/[^/]+/secrets/[^/]+$", name))])
    error_message = "A secret is given as projects/P/secrets/S."
  }
}

variable "image_repositories" {
  description = "Artifact Registry repositories that machines may pull from, as projects/P/locations/L/repositories/R."
  type        = set(string)
  default     = []

  validation {
    condition     = alltrue([for name in var.image_repositories : can(regex("^projects/[^/]+/locations/[^/]+/repositories/[^/]+$", name))])
    error_message = "A repository is given as projects/P/locations/L/repositories/R."
  }
}

variable "job_images" {
  description = "Base image → its reference. A base without an image has no Jobs on Cloud Run."
  type        = map(string)
  default     = {}
}

variable "gpu_jobs" {
  description = "Whether the class GPU is on offer: the Job of base-dl that has one L4."
  type        = bool
  default     = false
}

variable "kms_key" {
  description = "Cloud KMS key of bucket, topics and boot disks, in var.region; empty: Google's own keys."
  type        = string
  default     = ""

  validation {
    condition     = var.kms_key == "" || can(regex("^projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+$", var.kms_key))
    error_message = "A key is given by its full name, without a version."
  }
}

variable "notification_channels" {
  description = "Full names of the Cloud Monitoring channels that alerts and the budget go to."
  type        = list(string)
  default     = []
}

variable "run_cost_alert_usd" {
  description = "A run that cost more US dollars than this raises an alert."
  type        = number
  default     = 50

  validation {
    condition     = var.run_cost_alert_usd > 0
    error_message = "More than 0."
  }
}

variable "budget" {
  description = "Monthly budget of the project, in units of the billing account's currency; null: none."
  type = object({
    billing_account = string
    amount          = number
  })
  default = null
}
