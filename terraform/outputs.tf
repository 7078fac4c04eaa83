output "project" {
  description = "The project, as given."
  value       = var.project
}

output "region" {
  description = "Region of the functions, the bucket and the schedule."
  value       = var.region
}

output "regions" {
  description = "Regions where machines and executions may run."
  value       = var.regions
}

output "bucket" {
  description = "Name of the deployment's bucket."
  value       = google_storage_bucket.this.name
}

output "deployment" {
  description = "Name of the installation."
  value       = var.deployment
}

output "functions" {
  description = "Function → its address."
  value       = { for name in local.functions : name => google_cloudfunctions2_function.this[name].service_config[0].uri }
}

output "accounts" {
  description = "Account → its e-mail address."
  value       = { for name, account in google_service_account.this : name => account.email }
}

output "topics" {
  description = "Topic → its full name."
  value       = { for name, topic in google_pubsub_topic.this : name => topic.id }
}

output "subscriptions" {
  description = "Subscription → its full name."
  value       = { for name, subscription in google_pubsub_subscription.this : name => subscription.id }
}

output "sweep_job" {
  description = "Full name of the schedule of the sweep."
  value       = google_cloud_scheduler_job.sweep.id
}

output "worker_service_accounts" {
  description = "Accounts that machines may run as, the default first."
  value       = local.worker_emails
}
