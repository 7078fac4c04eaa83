# One page: how many runs end and how, where their time goes, what they cost, what is left behind.
locals {
  charts = concat(
    [for name, title in {
      "run.ended"   = "Runs that ended"
      "sweep.leaks" = "Left behind"
      "run.unknown" = "Cannot be told"
      } : {
      title   = title, metric = google_logging_metric.counters[name].name
      aligner = "ALIGN_SUM", reducer = "REDUCE_SUM"
    }],
    [for name, title in {
      "run.queue.duration"     = "Queue (s, median)"
      "run.placement.duration" = "Placement (s, median)"
      "run.pull.duration"      = "Pull (s, median)"
      "run.execute.duration"   = "Execute (s, median)"
      "run.cost"               = "Cost of a run (USD, median)"
      } : {
      title   = title, metric = google_logging_metric.distributions[name].name
      aligner = "ALIGN_DELTA", reducer = "REDUCE_PERCENTILE_50"
    }],
  )
}

resource "google_monitoring_dashboard" "this" {
  project = var.project
  dashboard_json = jsonencode({
    displayName = "Mayfly ${var.deployment}"
    mosaicLayout = {
      columns = 12
      tiles = [for index, chart in local.charts : {
        xPos   = (index % 2) * 6
        yPos   = floor(index / 2) * 4
        width  = 6
        height = 4
        widget = {
          title = chart.title
          xyChart = { dataSets = [{
            plotType = "LINE"
            timeSeriesQuery = { timeSeriesFilter = {
              filter = "resource.type=\"cloud_run_revision\" AND metric.type=\"logging.googleapis.com/user/${chart.metric}\""
              aggregation = {
                alignmentPeriod    = "300s"
                perSeriesAligner   = chart.aligner
                crossSeriesReducer = chart.reducer
              }
            } }
          }] }
        }
      }]
    }
  })
}
