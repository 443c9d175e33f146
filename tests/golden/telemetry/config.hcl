ui           = true
cluster_name = "telemetry"

listener "tcp" {
  address              = "[::]:8200"
  cluster_address      = "[::]:8201"
  max_request_duration = "90s"
  tls_cert_file        = "/etc/bao/tls/tls.crt"
  tls_key_file         = "/etc/bao/tls/tls.key"
  tls_client_ca_file   = "/etc/bao/tls/ca.crt"
}

seal "static" {
  current_key    = "file:///etc/bao/unseal/key"
  current_key_id = "operator-generated-v1"
}

storage "raft" {
  path                         = "/bao/data"
  performance_multiplier       = 1
  autopilot_reconcile_interval = "3s"

  retry_join {
    leader_api_addr         = "https://telemetry-0.telemetry.demo.svc:8200"
    leader_tls_servername   = "openbao-cluster-telemetry.local"
    leader_ca_cert_file     = "/etc/bao/tls/ca.crt"
    leader_client_cert_file = "/etc/bao/tls/tls.crt"
    leader_client_key_file  = "/etc/bao/tls/tls.key"
  }

  retry_join {
    leader_api_addr         = "https://telemetry-1.telemetry.demo.svc:8200"
    leader_tls_servername   = "openbao-cluster-telemetry.local"
    leader_ca_cert_file     = "/etc/bao/tls/ca.crt"
    leader_client_cert_file = "/etc/bao/tls/tls.crt"
    leader_client_key_file  = "/etc/bao/tls/tls.key"
  }

  retry_join {
    leader_api_addr         = "https://telemetry-2.telemetry.demo.svc:8200"
    leader_tls_servername   = "openbao-cluster-telemetry.local"
    leader_ca_cert_file     = "/etc/bao/tls/ca.crt"
    leader_client_cert_file = "/etc/bao/tls/tls.crt"
    leader_client_key_file  = "/etc/bao/tls/tls.key"
  }
}

service_registration "kubernetes" {}

log_level = "info"

telemetry {
  usage_gauge_period        = "5m"
  maximum_gauge_cardinality = 100
  disable_hostname          = true
  enable_hostname_label     = true
  metrics_prefix            = "bao"
  lease_metrics_epsilon     = "1h"
  prometheus_retention_time = "12h"
  statsite_address          = "statsite.example.com:8125"
  statsd_address            = "statsd.example.com:8125"
  dogstatsd_addr            = "127.0.0.1:8125"
  dogstatsd_tags            = [
    "team:b",
    "zone:a",
  ]
}
