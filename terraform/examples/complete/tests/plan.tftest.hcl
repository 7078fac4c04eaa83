variables {
  project         = "sample-project"
  source_archive  = "../../tests/functions.zip"
  billing_account = "000000-000000-000000"
}

run "plan" {
  command = plan
  assert {
    condition     = length(output.functions) == 5
    error_message = "Five functions have an address."
  }
}
