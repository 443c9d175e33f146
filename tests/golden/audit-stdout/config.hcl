ui           = true
cluster_name = "audit-stdout"

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
    leader_api_addr         = "https://audit-stdout-0.audit-stdout.demo.svc:8200"
    leader_tls_servername   = "openbao-cluster-audit-stdout.local"
    leader_ca_cert_file     = "/etc/bao/tls/ca.crt"
    leader_client_cert_file = "/etc/bao/tls/tls.crt"
    leader_client_key_file  = "/etc/bao/tls/tls.key"
  }

  retry_join {
    leader_api_addr         = "https://audit-stdout-1.audit-stdout.demo.svc:8200"
    leader_tls_servername   = "openbao-cluster-audit-stdout.local"
    leader_ca_cert_file     = "/etc/bao/tls/ca.crt"
    leader_client_cert_file = "/etc/bao/tls/tls.crt"
    leader_client_key_file  = "/etc/bao/tls/tls.key"
  }

  retry_join {
    leader_api_addr         = "https://audit-stdout-2.audit-stdout.demo.svc:8200"
    leader_tls_servername   = "openbao-cluster-audit-stdout.local"
    leader_ca_cert_file     = "/etc/bao/tls/ca.crt"
    leader_client_cert_file = "/etc/bao/tls/tls.crt"
    leader_client_key_file  = "/etc/bao/tls/tls.key"
  }
}

service_registration "kubernetes" {}

log_level = "info"

audit "file" "stdout" {
  description = "every request"
  options     = {
    "file_path" = "stdout"
  }
}
