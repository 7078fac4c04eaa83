variables {
  project        = "sample-project"
  source_archive = "../../tests/functions.zip"
}

run "plan" {
  command = plan
  assert {
    condition     = output.bucket == "sample-project-mayfly"
    error_message = "The bucket is named after project and deployment."
  }
}
