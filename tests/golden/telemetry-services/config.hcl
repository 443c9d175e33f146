ui           = true
cluster_name = "telemetry-services"

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
    leader_api_addr         = "https://telemetry-services-0.telemetry-services.demo.svc:8200"
    leader_tls_servername   = "openbao-cluster-telemetry-services.local"
    leader_ca_cert_file     = "/etc/bao/tls/ca.crt"
    leader_client_cert_file = "/etc/bao/tls/tls.crt"
    leader_client_key_file  = "/etc/bao/tls/tls.key"
  }

  retry_join {
    leader_api_addr         = "https://telemetry-services-1.telemetry-services.demo.svc:8200"
    leader_tls_servername   = "openbao-cluster-telemetry-services.local"
    leader_ca_cert_file     = "/etc/bao/tls/ca.crt"
    leader_client_cert_file = "/etc/bao/tls/tls.crt"
    leader_client_key_file  = "/etc/bao/tls/tls.key"
  }

  retry_join {
    leader_api_addr         = "https://telemetry-services-2.telemetry-services.demo.svc:8200"
    leader_tls_servername   = "openbao-cluster-telemetry-services.local"
    leader_ca_cert_file     = "/etc/bao/tls/ca.crt"
    leader_client_cert_file = "/etc/bao/tls/tls.crt"
    leader_client_key_file  = "/etc/bao/tls/tls.key"
  }
}

service_registration "kubernetes" {}

log_level = "info"

telemetry {
  circonus_api_token                     = "not-a-real-token"
  circonus_api_app                       = "openbao"
  circonus_api_url                       = "https://circonus.example.com/v2"
  circonus_submission_interval           = "10s"
  circonus_check_id                      = "1234"
  circonus_check_force_metric_activation = "false"
  circonus_check_instance_id             = "bao:openbao"
  circonus_check_search_tag              = "service:openbao"
  circonus_check_display_name            = "OpenBao"
  circonus_check_tags                    = "team:a"
  circonus_broker_id                     = "42"
  circonus_broker_select_tag             = "dc:a"
  stackdriver_project_id                 = "my-project"
  stackdriver_location                   = "europe-west1"
  stackdriver_namespace                  = "bao"
  stackdriver_debug_logs                 = true
}
