# What `mayfly deploy` reads after an apply.
output "project" {
  description = "The project, as given."
  value       = module.mayfly.project
}

output "region" {
  description = "Region of the functions, the bucket and the schedule."
  value       = module.mayfly.region
}

output "regions" {
  description = "Regions where machines and executions may run."
  value       = module.mayfly.regions
}

output "bucket" {
  description = "Name of the deployment's bucket."
  value       = module.mayfly.bucket
}

output "deployment" {
  description = "Name of the installation."
  value       = module.mayfly.deployment
}

output "worker_service_accounts" {
  description = "Accounts that machines may run as, the default first."
  value       = module.mayfly.worker_service_accounts
}
