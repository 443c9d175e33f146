ui           = false
cluster_name = "settings"

listener "tcp" {
  address              = "[::]:8200"
  cluster_address      = "[::]:8201"
  max_request_duration = "90s"
  tls_cert_file        = "/etc/bao/tls/tls.crt"
  tls_key_file         = "/etc/bao/tls/tls.key"
  tls_client_ca_file   = "/etc/bao/tls/ca.crt"
}

seal "static" {
  current_key    = "file:///etc/bao/unseal/2026.key"
  current_key_id = "key-2026"
}

storage "raft" {
  path                         = "/bao/data"
  performance_multiplier       = 5
  autopilot_reconcile_interval = "3s"

  retry_join {
    leader_api_addr         = "https://settings-0.settings.demo.svc:8200"
    leader_tls_servername   = "openbao-cluster-settings.local"
    leader_ca_cert_file     = "/etc/bao/tls/ca.crt"
    leader_client_cert_file = "/etc/bao/tls/tls.crt"
    leader_client_key_file  = "/etc/bao/tls/tls.key"
  }

  retry_join {
    leader_api_addr         = "https://settings-1.settings.demo.svc:8200"
    leader_tls_servername   = "openbao-cluster-settings.local"
    leader_ca_cert_file     = "/etc/bao/tls/ca.crt"
    leader_client_cert_file = "/etc/bao/tls/tls.crt"
    leader_client_key_file  = "/etc/bao/tls/tls.key"
  }

  retry_join {
    leader_api_addr         = "https://settings-2.settings.demo.svc:8200"
    leader_tls_servername   = "openbao-cluster-settings.local"
    leader_ca_cert_file     = "/etc/bao/tls/ca.crt"
    leader_client_cert_file = "/etc/bao/tls/tls.crt"
    leader_client_key_file  = "/etc/bao/tls/tls.key"
  }
}

service_registration "kubernetes" {}

log_level         = "debug"
log_format        = "json"
default_lease_ttl = "24h"
max_lease_ttl     = "168h"
