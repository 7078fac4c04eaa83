output "project" {
  description = "The project."
  value       = var.project
}

output "region" {
  description = "Where functions, bucket and scheduler job are."
  value       = var.region
}

output "regions" {
  description = "Where machines may run, best first."
  value       = local.regions
}

output "bucket" {
  description = "The deployment's bucket."
  value       = google_storage_bucket.this.name
}

output "deployment" {
  description = "The deployment's name."
  value       = local.name
}

output "functions" {
  description = "Function → address of its service."
  value       = { for name, function in google_cloudfunctions2_function.this : name => function.service_config[0].uri }
}

output "accounts" {
  description = "Account's short name → its address."
  value       = { for name, account in google_service_account.this : name => account.email }
}

output "worker_service_accounts" {
  description = "Addresses of the accounts that machines may run as; the first is a request's default."
  value       = [for name in var.worker_accounts : google_service_account.this[name].email]
}

output "topics" {
  description = "Topic without the deployment's prefix → its full name."
  value       = { for name, topic in google_pubsub_topic.this : name => topic.id }
}

output "subscriptions" {
  description = "Subscription without the deployment's prefix → its full name."
  value       = { for name, subscription in google_pubsub_subscription.this : name => subscription.id }
}

output "sweep_job" {
  description = "Full name of the scheduler job that sweeps."
  value       = google_cloud_scheduler_job.sweep.id
}
